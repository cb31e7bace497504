/**
 * The truth, written down beside the daemon: who did what to which delivery, and what was in force
 * when. Each change that the daemon makes at the service is judged on the spot, by this alone, and
 * what must not have been is kept.
 */
import type { Reference } from '../../../src/reference/reference.ts';
import type { DecisionStatus, Delivery } from '../../../src/reference/world/trade/orders.ts';
import { History, historyIn } from './history.ts';
import { Reads } from './reads.ts';
import { type Case, GRACE_MS, meaningOf, PER_HOUR_MAX, type Text } from './rules.ts';
import { piecesOf, Shelf } from './shelf.ts';
import { Shortage } from './shortage.ts';

/** How long the row of a customer may take on its way into the facts. */
const ROW_MS = 240_000;
/** How long what was decided may wait before it is sent (safeguards.freshness.mirror + 1 min). */
const SENT_MS = 16 * 60_000;
/** Between its look and its push somebody may act in the service: nobody could know. */
const RACE_MS = 2_000;
const HOUR_MS = 3_600_000;
/** How long it may take until what was read is decided. */
const DECIDED_MS = 60_000;
/** How old the stock may be that a reject rests on (safeguards.freshness.stock), and a moment. */
const FRESH_MS = HOUR_MS + DECIDED_MS;

export interface Act {
  /**
   * `asked`: a person has asked for it, and may hear that it is refused; `lines`: they are others
   * by now, and what people said before was about those.
   */
  readonly by: 'person' | 'service' | 'asked' | 'lines';
  readonly action: 'accept' | 'reject' | 'hold' | 'release';
  readonly at: number;
}

interface Move {
  readonly at: number;
  /** On the clock of the daemon. */
  readonly wallAt: number;
  readonly id: number;
  readonly to: DecisionStatus;
  readonly by: 'rules' | 'person';
}

interface Watch {
  readonly now: () => number;
  readonly wall: () => number;
  readonly listsSoldOut: boolean;
}

const ACTION = {
  accepted: 'accept',
  rejected: 'reject',
  pending: 'hold',
  canceled: 'hold',
} as const;

export function iso(at: number): string {
  return new Date(at).toISOString().slice(0, 19);
}

export class Truth {
  readonly problems: string[] = [];
  /** Changes by the daemon that the service has made. */
  readonly moves: Move[] = [];
  readonly isStopped = new History(false);
  readonly text = new History<Text>('wide');
  /** By how much the clock of this machine is ahead. */
  readonly ahead = new History(0);
  readonly shelf: Shelf;
  readonly reads: Reads;
  conflicts = 0;
  /** Rejects by the rules that rest on the stock alone. */
  forWant = 0;
  /** Called when the service has made a change of the daemon's, before its answer. */
  onMove: (() => void) | undefined;
  readonly #armed = new Map<string, History<boolean>>();
  readonly #blocked = new Map<string, History<boolean>>();
  readonly #acts = new Map<number, Act[]>();
  readonly #pieces = new Map<number, History<number>>();
  readonly #world: Reference['world'];
  readonly #now: () => number;
  readonly #wall: () => number;
  readonly shortage: Shortage;
  #isOutside = false;

  constructor(reference: Reference, { now, wall, listsSoldOut }: Watch) {
    const { world } = reference;
    this.#world = world;
    this.#now = now;
    this.#wall = wall;
    this.shelf = new Shelf(world, now);
    this.reads = new Reads(reference);
    this.shortage = new Shortage(world, now, listsSoldOut, {
      reads: this.reads,
      pieces: (delivery) => this.pieces(delivery),
      mayBeAccepted: (delivery) => this.#mayBeAccepted(delivery),
    });
    const move = world.trade.moveDelivery;
    world.trade.moveDelivery = (delivery, to) => {
      const from = delivery.status;
      const moved = move(delivery, to);
      const isOurs = !this.#isOutside && to !== 'canceled';
      if (moved === 'moved') this.#note(delivery, from, isOurs);
      if (moved === 'conflict' && isOurs) this.conflicts += 1;
      return moved;
    };
  }

  armed(rule: string): History<boolean> {
    return historyIn(this.#armed, rule, false);
  }

  blocked(account: string): History<boolean> {
    return historyIn(this.#blocked, account, false);
  }

  pieces(delivery: Delivery): History<number> {
    return historyIn(this.#pieces, delivery.orderDeliveryId, piecesOf(delivery));
  }

  /** There is something else in the delivery from now on. */
  linesChanged(delivery: Delivery): void {
    const at = this.#now();
    this.pieces(delivery).set(at, piecesOf(delivery));
    this.acts(delivery.orderDeliveryId).push({ by: 'lines', action: 'release', at });
  }

  /** The text is another one: no rule is armed in it. */
  disarmAll(at: number): void {
    for (const history of this.#armed.values()) history.set(at, false);
  }

  acts(id: number): Act[] {
    const acts = this.#acts.get(id) ?? [];
    this.#acts.set(id, acts);
    return acts;
  }

  /** The last that people did to it, here or there; undefined: it is left to the rules. */
  touched(id: number): Act | undefined {
    const last = this.acts(id).findLast(({ by }) => by !== 'asked');
    return last?.action === 'release' ? undefined : last;
  }

  /**
   * The reject by a rule after which the service packed this delivery again; undefined: there is
   * none, or a person has decided about it. Only people decide about it until then.
   */
  packedAgainAfter({ orderDeliveryId: id, orderId, createdAt, lines }: Delivery): Move | undefined {
    if (this.acts(id).some(({ by }) => by === 'person' || by === 'asked')) return undefined;
    const ofOrder = this.#world.book.deliveries.all.filter(
      (other) =>
        other.orderId === orderId &&
        other.status === 'rejected' &&
        other.lines.some(({ line }) => lines.some((own) => own.line === line)),
    );
    const ids = new Set(ofOrder.map((other) => other.orderDeliveryId));
    return this.moves.find(
      (move) =>
        ids.has(move.id) && move.to === 'rejected' && move.by === 'rules' && move.at <= createdAt,
    );
  }

  /** Somebody does it at the service. */
  outside(act: () => void): void {
    this.#isOutside = true;
    act();
    this.#isOutside = false;
  }

  caseOf(delivery: Delivery): Case {
    return {
      quantity: piecesOf(delivery),
      comment: this.#world.book.orders.get(delivery.orderId)?.comment ?? '',
      isBlocked: this.blocked(this.#accountOf(delivery)).now,
      isCovered: this.shelf.covers(delivery),
    };
  }

  #accountOf({ orderId }: Delivery): string {
    return this.#world.book.orders.get(orderId)?.address.accountNo ?? '';
  }

  #note(delivery: Delivery, from: DecisionStatus, isOurs: boolean): void {
    const { orderDeliveryId: id, status: to } = delivery;
    const at = this.#now();
    if (!isOurs) {
      this.acts(id).push({ by: 'service', action: ACTION[to], at });
      return;
    }
    const byPerson = this.#isAsked(id, to, at);
    this.onMove?.();
    const wrong = this.#wrongWith(delivery, byPerson, at);
    this.moves.push({ at, wallAt: this.#wall(), id, to, by: byPerson ? 'person' : 'rules' });
    if (wrong !== undefined) this.problems.push(`${iso(at)} ${id} ${from} → ${to}: ${wrong}`);
  }

  /** Whether a person wanted it last, or may have. */
  #isAsked(id: number, to: DecisionStatus, at: number): boolean {
    const acts = this.acts(id).filter(({ by }) => by !== 'service');
    const isOpen = acts.some((act) => act.action === ACTION[to] && act.at >= at - RACE_MS);
    return isOpen || acts.at(-1)?.action === ACTION[to];
  }

  #wrongWith(delivery: Delivery, byPerson: boolean, at: number): string | undefined {
    const { orderDeliveryId: id, status: to } = delivery;
    if (byPerson) return undefined;
    if (this.isStopped.within(at - 1, at).every((one) => one)) return 'although all is stopped';
    if (to === 'pending') return 'put back by nobody';
    // Given back to the rules: they may be quicker than the answer.
    if (this.acts(id).at(-1)?.action === 'release') return this.#wrongByRules(delivery, at);
    const last = this.acts(id).findLast(
      ({ by, at: then }) => by !== 'asked' && then < at - RACE_MS,
    );
    if (last && last.action !== 'release') return `after ${last.by} ${last.action} ${iso(last.at)}`;
    return this.#wrongByRules(delivery, at);
  }

  #wrongByRules(delivery: Delivery, at: number): string | undefined {
    const before = this.packedAgainAfter(delivery);
    if (before && this.ahead.within(before.at, at).length === 1) {
      return `packed again after the rules had ${before.id} rejected`;
    }
    const isAccept = delivery.status === 'accepted';
    return isAccept ? this.#wrongAccept(delivery, at) : this.#wrongReject(delivery, at);
  }

  #packedAt({ orderDeliveryId: id, createdAt }: Delivery): number {
    return this.acts(id).findLast(({ by }) => by === 'lines')?.at ?? createdAt;
  }

  /**
   * Accepted by the daemon, and for its stock or a while ago: what is accepted without a look at
   * the stock may be decided after another one and sent before it.
   */
  #isOurs(delivery: Delivery, at: number): boolean {
    const isByStock = this.caseOf(delivery).comment !== 'keep';
    return this.moves.some(
      (move) =>
        move.id === delivery.orderDeliveryId &&
        move.at === delivery.acceptedAt &&
        ((isByStock && move.by === 'rules') || move.at < at - SENT_MS),
    );
  }

  /** Without its pieces being there. */
  #mayBeAccepted(delivery: Delivery): boolean {
    const isAsked = this.acts(delivery.orderDeliveryId).some(({ action }) => action === 'accept');
    return isAsked || this.#world.book.orders.get(delivery.orderId)?.comment === 'keep';
  }

  /** Outcomes that the rules may have meant at this moment, by any of these texts. */
  #meanings(
    delivery: Delivery,
    texts: readonly Text[],
    at: number,
    isCovered: boolean,
  ): readonly string[] {
    const blocked = this.blocked(this.#accountOf(delivery)).within(at - ROW_MS, at);
    const quantities = this.pieces(delivery).within(at - RACE_MS, at);
    const known = { ...this.caseOf(delivery), isCovered };
    return texts.flatMap((text) =>
      blocked.flatMap((isBlocked) =>
        quantities.flatMap((quantity) => meaningOf(text, { ...known, isBlocked, quantity }) ?? []),
      ),
    );
  }

  #mayBeShort(delivery: Delivery, at: number): boolean {
    const quantities = this.pieces(delivery).within(at - RACE_MS, at);
    return quantities.some((quantity) => this.shortage.mayBeShort(delivery, quantity, at));
  }

  /** Rejected for want of pieces: known not too long ago, and all through the grace. */
  #wrongWithStock(delivery: Delivery, at: number, decidedAt: number): string | undefined {
    const readAt = this.reads.lastStock(at);
    const isMoved = this.ahead.within(readAt, at).length > 1;
    if (!isMoved && decidedAt - readAt > FRESH_MS) return `its stock was read at ${iso(readAt)}`;
    const since = at - GRACE_MS;
    const isBlocked = this.blocked(this.#accountOf(delivery)).within(since - ROW_MS, at);
    if (isBlocked.some(Boolean) || this.pieces(delivery).within(since, at).length > 1) {
      return undefined;
    }
    const covered = this.reads
      .stock(Math.max(since, this.#packedAt(delivery)), at - DECIDED_MS)
      .map((read) => read + DECIDED_MS)
      .find((then) => this.#couldDecide(then) && !this.#mayBeShort(delivery, then));
    return covered === undefined ? undefined : `it had its pieces at ${iso(covered)}`;
  }

  /** Whether what was known then could change anything. */
  #couldDecide(at: number): boolean {
    return !this.isStopped.within(at - DECIDED_MS, at).some(Boolean);
  }

  #wrongAccept(delivery: Delivery, at: number): string | undefined {
    const isCovered = this.shelf.mayCover(delivery, at, {
      isOurs: (other) => this.#isOurs(other, at),
      packedAt: (other) => this.#packedAt(other),
    });
    const meant = this.#meanings(delivery, this.text.within(at - SENT_MS, at), at, isCovered);
    return meant.some((rule) => rule.startsWith('accept')) ? undefined : `meant was: ${meant}`;
  }

  #wrongReject(delivery: Delivery, at: number): string | undefined {
    const decidedAt = this.reads.isCalm(at - SENT_MS, at) ? at : at - SENT_MS;
    const isCovered = !this.#mayBeShort(delivery, decidedAt);
    const meant = this.#meanings(delivery, [this.text.now], at, isCovered);
    if (!meant.some((rule) => this.armed(rule).now)) return `not armed, meant was: ${meant}`;
    if (meant.every((rule) => rule === 'reject-short' || !this.armed(rule).now)) {
      this.forWant += 1;
      const wrong = this.#wrongWithStock(delivery, at, decidedAt);
      if (wrong !== undefined) return wrong;
    }
    if (at - delivery.createdAt < GRACE_MS) return 'before its grace is over';
    const acts = this.acts(delivery.orderDeliveryId);
    const freed = acts.findLast(
      ({ action, at: then }) => action === 'release' && then < at - RACE_MS,
    );
    if (freed && at - freed.at < GRACE_MS) return `in the grace that ${freed.by} began anew`;
    const isArmed = meant.some((rule) =>
      this.armed(rule)
        .within(at - GRACE_MS + 1, at)
        .every(Boolean),
    );
    if (!isArmed) return 'armed within its grace';
    // Counted by when they are meant; each may be sent later.
    const since = this.#wall() - HOUR_MS + SENT_MS;
    const lately = this.moves.filter(
      (move) => move.to === 'rejected' && move.by === 'rules' && move.wallAt > since,
    );
    return lately.length >= PER_HOUR_MAX ? 'beyond the limit of the hour' : undefined;
  }
}
