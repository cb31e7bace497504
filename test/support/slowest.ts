/** Files of more than ten seconds, most of them small: by their size they would be the last. */
export const SLOWEST: readonly string[] = [
  // In `npm test`.
  'test/surface/acts.test.ts',
  'test/report/reports.test.ts',
  'test/console/reports.test.ts',
  'test/cli/rules/asking.test.ts',
  'test/plane/follow.test.ts',
  'test/suggest/suggest.test.ts',
  'test/suggest/refused.test.ts',
  'test/told/words.test.ts',
  // In `npm run test:slow`.
  'test/decisions/simulation/past/days.slow.test.ts',
  'test/soak/soak.slow.test.ts',
  'test/e2e/levels.slow.test.ts',
  'test/console/hands-browser.slow.test.ts',
  'test/sync/faults.slow.test.ts',
  'test/config/old-names.slow.test.ts',
  'test/surface/commands.slow.test.ts',
  'test/conformance/command.slow.test.ts',
  'test/decisions/absence/absence.slow.test.ts',
  'test/dialects/writing.slow.test.ts',
  'test/dialects/meaning.slow.test.ts',
  'test/decisions/lost.slow.test.ts',
  'test/cli/stopping.slow.test.ts',
  'test/console/operations-browser.slow.test.ts',
  // In `npm run test:system`.
  'test/system/console-budgets.test.ts',
  'test/system/terminal.test.ts',
  'test/system/console-axe.test.ts',
  'test/system/plane-views.test.ts',
  'test/system/plane-cells.test.ts',
];
