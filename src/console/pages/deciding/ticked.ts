/** Acts on deliveries that a person ticked: the choice above the list, and the page that asks. */
import type { ReviewSelection } from '../../../decisions/review/listing.ts';
import { assignDelivery, rejectDelivery } from '../../../decisions/review/surface.ts';
import { type Html, html } from '../../../lib/html.ts';
import { plural } from '../../../lib/strings.ts';
import type { ActHead } from '../../../surface/acts.ts';
import { mayDo, type Role } from '../../../surface/roles.ts';
import type { StockLack } from '../../read/delivery.ts';
import { actionOf } from '../../surface/addresses.ts';
import { NOTHING_BY_ENTER, SAYS_ENTER } from '../parts.ts';
import { type ReviewView, reviewTable, TICKS } from '../review.ts';
import { deliveriesText, lacksPart, ON_ALL, whatOf } from './bulk.ts';

const FINAL = 'A reject is final at the service.';
/** Acts on the ticked ones, with the words of {@link ON_ALL}. */
const ON_TICKED = [
  ...ON_ALL,
  [rejectDelivery, 'Reject', 'Reject', FINAL, 'r'],
  [assignDelivery, 'Assign', 'Assign', 'Everybody reads who sees to them.', ''],
] as const;

export const TICKED_ACTIONS = ON_TICKED.map(([act]) => actionOf(act));

/** The act on the ticked ones with its words. */
export function tickedAct(action: string): (typeof ON_TICKED)[number] {
  return ON_TICKED.find(([act]) => actionOf(act) === action) ?? ON_TICKED[0];
}

/** Choice of an act on the ticked ones; the page that it leads to asks once more. */
export function tickedPart(role: Role, back: string): Html {
  return html`<form id="${TICKS.form}" class="bulk" method="get" action="/review/ticked">
<input type="hidden" name="back" value="${back}">
<p><span data-ticks role="status">Tick deliveries to decide several at once.</span></p>
<div class="buttons">${NOTHING_BY_ENTER}${ON_TICKED.filter(([act]) => mayDo(role, act.role)).map(
    ([act, , button, , key]) =>
      html`<button class="small" name="act" value="${actionOf(act)}" data-key="${key}">${button}
ticked…${key !== '' && html` <kbd>${key}</kbd>`}</button>`,
  )}</div>${SAYS_ENTER}</form>`;
}

export interface TickedView extends Pick<ReviewView, 'query' | 'view'> {
  readonly action: string;
  /** The deliveries that are as they were when they were ticked. */
  readonly selection: ReviewSelection;
  /** Names of those that have changed since, or are gone. */
  readonly changed: readonly string[];
  readonly back: string;
  /** Names of people to choose from. */
  readonly names: readonly string[];
  /** Pieces missing on hand, or not known, in those that are shown. */
  readonly lacks: readonly StockLack[];
}

/** Members that name each delivery, with what an act wants seen of it and its name for people. */
function thingsOf({ deliveries }: ReviewSelection, { seen }: ActHead): string {
  return JSON.stringify(
    deliveries.map(({ orderDeliveryId, deliveryNo, decisionId, contentHash }) => ({
      delivery: `id:${orderDeliveryId}`,
      ...('contentHash' in seen.shape && { decisionId: decisionId ?? 0, contentHash }),
      label: deliveryNo ?? String(orderDeliveryId),
    })),
  );
}

/** Fields that the act wants beside the deliveries. */
function fieldsOf(act: ActHead, count: number, names: readonly string[]): Html {
  const numbers = count === 1 ? 'number of the delivery' : `numbers of all ${count}`;
  const options = names.map((name) => html`<option value="${name}"></option>`);
  return html`${
    act.typed !== undefined &&
    html`<label for="confirm">Type the ${numbers} to go on</label>
<input id="confirm" name="${act.typed.member}" required autocomplete="off" autofocus>`
  }${
    act === assignDelivery &&
    html`<label for="assign">Name (me: yourself, nobody: the name is taken away)</label>
<input id="assign" name="to" required maxlength="100" autocomplete="off" list="assign-names"
 autofocus>
<datalist id="assign-names">${options}</datalist>`
  }${
    act.reason !== 'none' &&
    html`<label for="bulk-reason">Reason</label>
<input id="bulk-reason" name="reason" required maxlength="1000" autocomplete="off"${
      act.typed === undefined && html` autofocus`
    }>`
  }`;
}

/** Page that asks once more before the ticked deliveries are decided. */
export function tickedPage({ lacks, ...given }: TickedView): Html {
  const { action, selection, changed, back, names, ...of } = given;
  const { count } = selection;
  const [act, , one, effect] = tickedAct(action);
  const away = html`<p><a href="${back}">No, back to the list</a></p>`;
  const left =
    changed.length > 0 &&
    html`<p class="problem" role="alert">Changed since you ticked, and left out: ${changed.join(
      ', ',
    )}.</p>`;
  if (count === 0) {
    return html`<h1>${one}</h1>${left}<p class="empty">No delivery is ticked.</p>${away}`;
  }
  const more = count - of.view.page.rows.length;
  return html`<h1>${one} ${deliveriesText(count)}?</h1>${left}
<p>${whatOf(selection)} ${effect}</p>${reviewTable(of)}${lacksPart(lacks)}
${more > 0 && html`<p>and ${plural(more, 'other')}</p>`}
<form class="bulk" method="post" action="/acts/${act.name}/several" data-ticked
 data-keep="${action} ticked"><input type="hidden" name="things" value="${thingsOf(
   selection,
   act,
 )}">
<input type="hidden" name="back" value="${back}">
${fieldsOf(act, count, names)}<div class="buttons">
<button class="${act.danger ? 'danger' : 'primary'}">${one} ${deliveriesText(count)}</button></div>
</form>${away}`;
}
