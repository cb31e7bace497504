/** Figures of the plane against their goals. */
export type Say = (text: string, isHeld: boolean) => void;

export function createJudge(): { readonly say: Say; readonly held: () => boolean } {
  let held = true;
  return {
    held: () => held,
    say(text, isHeld) {
      held &&= isHeld;
      console.log(`${isHeld ? 'held  ' : 'MISSED'} ${text}`);
    },
  };
}
