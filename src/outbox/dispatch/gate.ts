/** What holds a kind is asked for here, so that what waits hears of a stop that is over by then. */
export interface Gate {
  /** Kinds that are held now, and why. */
  look(): ReadonlyMap<string, string>;
  /** To be asked again and again: why what enters now must not leave, held now or since. */
  enter(kind: string): HeldBy;
}

export type HeldBy = () => string | undefined;

export function createGate({
  kinds,
  brake,
}: {
  readonly kinds: readonly { readonly kind: string }[];
  readonly brake: (kind: string) => string | undefined;
}): Gate {
  const met = new Map<string, { readonly reason: string }>();
  return {
    look() {
      const held = new Map<string, string>();
      for (const { kind } of kinds) {
        const reason = brake(kind);
        if (reason === undefined) continue;
        held.set(kind, reason);
        met.set(kind, { reason });
      }
      return held;
    },
    enter(kind) {
      const before = met.get(kind);
      return () => {
        const last = met.get(kind);
        return brake(kind) ?? (last === before ? undefined : last?.reason);
      };
    },
  };
}
