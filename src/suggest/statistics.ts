/** Statistics on counts: bounds of error shares, and how probable a difference is by chance. */

/** Natural logarithms of factorials, grown when a larger one is asked for. */
function createFactorials(): (n: number) => number {
  const logs = [0];
  return (n) => {
    for (let at = logs.length; at <= n; at += 1) logs.push((logs[at - 1] ?? 0) + Math.log(at));
    return logs[n] ?? 0;
  };
}

export interface Statistics {
  /**
   * Upper end of the one-sided interval of Clopper and Pearson for a share, of which `wrong` of
   * `all` were seen; 1 when nothing was seen.
   */
  upperBound(wrong: number, all: number, confidence: number): number;
  /**
   * Probability (Fisher's exact test, one-sided) that so many of the hits, or more, are within by
   * chance.
   */
  chance(within: { hits: number; all: number }, total: { hits: number; all: number }): number;
}

const BISECTIONS = 50;

export function createStatistics(): Statistics {
  const logFactorial = createFactorials();
  const logChoose = (n: number, k: number): number =>
    logFactorial(n) - logFactorial(k) - logFactorial(n - k);
  const atMost = (wrong: number, all: number, share: number): number => {
    let sum = 0;
    for (let k = 0; k <= wrong; k += 1) {
      sum += Math.exp(logChoose(all, k) + k * Math.log(share) + (all - k) * Math.log1p(-share));
    }
    return sum;
  };
  return {
    upperBound(wrong, all, confidence) {
      if (all === 0 || wrong >= all) return 1;
      let [low, high] = [wrong / all, 1];
      for (let step = 0; step < BISECTIONS; step += 1) {
        const middle = (low + high) / 2;
        if (atMost(wrong, all, middle) > 1 - confidence) low = middle;
        else high = middle;
      }
      return high;
    },
    chance(within, total) {
      const most = Math.min(within.all, total.hits);
      let sum = 0;
      for (let hits = within.hits; hits <= most; hits += 1) {
        const missed = within.all - hits;
        if (missed > total.all - total.hits) continue;
        sum += Math.exp(
          logChoose(total.hits, hits) +
            logChoose(total.all - total.hits, missed) -
            logChoose(total.all, within.all),
        );
      }
      return Math.min(1, sum);
    },
  };
}
