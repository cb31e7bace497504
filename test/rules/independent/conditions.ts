/** Conditions as trees, and how a person writes them. */

export type Relation = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in';
export type Sum = '+' | '-' | '*' | '/' | '%';

export type Condition =
  | { readonly is: 'fact'; readonly path: string }
  | { readonly is: 'text' | 'number'; readonly value: string }
  | { readonly is: 'truth'; readonly value: boolean }
  | {
      readonly is: 'length';
      readonly unit: 'days' | 'hours' | 'minutes' | 'duration';
      readonly count: number;
    }
  | { readonly is: 'time'; readonly at: number }
  | { readonly is: 'values'; readonly items: readonly Condition[] }
  | { readonly is: 'list'; readonly name: string }
  | { readonly is: 'cell'; readonly table: string; readonly keys: readonly Condition[] }
  | { readonly is: 'has'; readonly path: string }
  | { readonly is: 'lower' | 'size'; readonly of: Condition }
  | { readonly is: 'not'; readonly of: Condition }
  | {
      readonly is: 'part';
      readonly how: 'startsWith' | 'endsWith' | 'contains';
      readonly of: Condition;
      readonly part: Condition;
    }
  | {
      readonly is: 'loop';
      readonly how: 'all' | 'exists';
      readonly over: string;
      readonly name: string;
      readonly body: Condition;
    }
  | { readonly is: 'and'; readonly sides: readonly [Condition, Condition] }
  | { readonly is: 'or'; readonly sides: readonly [Condition, Condition] }
  | {
      readonly is: 'relation';
      readonly sign: Relation;
      readonly sides: readonly [Condition, Condition];
    }
  | { readonly is: 'sum'; readonly sign: Sum; readonly sides: readonly [Condition, Condition] };

const MINUTES = { days: 1_440, hours: 60, minutes: 1, duration: 1 } as const;

export function lengthMs({ unit, count }: Extract<Condition, { readonly is: 'length' }>): number {
  return count * MINUTES[unit] * 60_000;
}

/** How closely it binds; what binds less closely than its surroundings needs brackets. */
function closeness(condition: Condition): number {
  if (condition.is === 'or') return 1;
  if (condition.is === 'and') return 2;
  if (condition.is === 'relation') return 3;
  if (condition.is === 'sum') return condition.sign === '+' || condition.sign === '-' ? 4 : 5;
  if (condition.is === 'not') return 6;
  return condition.is === 'number' && condition.value.startsWith('-') ? 6 : 7;
}

function written(condition: Condition, closer: number): string {
  const text = write(condition);
  return closeness(condition) < closer ? `(${text})` : text;
}

/** The right side of equals needs brackets too: `a - (b - c)`. */
function between(sign: string, [left, right]: readonly [Condition, Condition], own: number) {
  return `${written(left, own)} ${sign} ${written(right, own + 1)}`;
}

export function write(condition: Condition): string {
  switch (condition.is) {
    case 'fact':
      return condition.path;
    case 'text':
      return JSON.stringify(condition.value);
    case 'number':
      return condition.value;
    case 'truth':
      return String(condition.value);
    case 'length':
      return condition.unit === 'duration'
        ? `duration("${condition.count}m")`
        : `${condition.unit}(${condition.count})`;
    case 'time':
      return `timestamp("${new Date(condition.at).toISOString()}")`;
    case 'values':
      return `[${condition.items.map(write).join(', ')}]`;
    case 'list':
      return `lists.${condition.name}`;
    case 'cell': {
      const keys = condition.keys.map((key) => `[${write(key)}]`);
      return `tables.${condition.table}${keys.join('')}`;
    }
    case 'has':
      return `has(${condition.path})`;
    case 'lower':
      return `lower(${write(condition.of)})`;
    case 'size':
      return `${written(condition.of, 7)}.size()`;
    case 'not':
      return `!${written(condition.of, 6)}`;
    case 'part':
      return `${written(condition.of, 7)}.${condition.how}(${write(condition.part)})`;
    case 'loop':
      return `${condition.over}.${condition.how}(${condition.name}, ${write(condition.body)})`;
    case 'and':
      return between('&&', condition.sides, 2);
    case 'or':
      return between('||', condition.sides, 1);
    // Relations do not follow each other.
    case 'relation': {
      const [left, right] = condition.sides.map((side) => written(side, 4));
      return `${left} ${condition.sign} ${right}`;
    }
    case 'sum':
      return between(condition.sign, condition.sides, closeness(condition));
  }
}
