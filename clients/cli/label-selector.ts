import type { LabelSelector } from '../../api/pool/pool.ts';
import { LabelKey, LabelValue } from '../../api/pool/text.ts';

type Requirement = NonNullable<LabelSelector['matchExpressions']>[number];

const OPERATORS = { '=': 'In', '==': 'In', '!=': 'NotIn' } as const;
/** The signs of kubectl's selectors, and the words between them. */
const TOKENS = /\s*(==|!=|[=!,()<>]|[^\s=!,()<>]+)/gy;
const SHAPE = 'write it as in app=web,tier!=db,size in (s,m),!old';

/**
 * Parses kubectl's label selectors: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a` for a label that exists,
 * `!a` for a label that doesn't, and several of these with `,` between. Throws a `RangeError` of one sentence.
 */
export function labelSelectorOf(text: string): LabelSelector {
  const matchLabels: Record<string, string> = {};
  const matchExpressions: Requirement[] = [];
  for (const requirement of requirementsOf(text, requirementOf)) {
    const { key, operator, values } = requirement;
    // Two values of one label make a selector that matches nothing, which only expressions can say.
    if (operator === 'In' && values?.length === 1 && !Object.hasOwn(matchLabels, key)) matchLabels[key] = values[0]!;
    else matchExpressions.push(requirement);
  }
  return {
    ...(Object.keys(matchLabels).length === 0 ? {} : { matchLabels }),
    ...(matchExpressions.length === 0 ? {} : { matchExpressions }),
  };
}

/**
 * Checks a selector that the API server reads, which takes `a>1` and `a<1` as well. Throws a `RangeError` of one
 * sentence.
 */
export function checkLabelSelector(text: string): void {
  requirementsOf(text, (reader) => {
    if (reader.second === '>' || reader.second === '<') checkComparison(reader);
    else requirementOf(reader);
  });
}

function requirementsOf<T>(text: string, read: (reader: Reader) => T): T[] {
  const reader = new Reader(text);
  const requirements: T[] = [];
  do requirements.push(read(reader));
  while (reader.skip(','));
  if (reader.next !== undefined) reader.fail(`"," is missing before ${JSON.stringify(reader.next)}`);
  return requirements;
}

function checkComparison(reader: Reader): void {
  const key = labelKey(reader);
  const sign = reader.pop();
  const value = reader.token() ?? '';
  if (!/^-?\d+$/.test(value))
    reader.fail(`the value after ${key}${sign} must be an integer, not ${JSON.stringify(value)}`);
}

function requirementOf(reader: Reader): Requirement {
  if (reader.skip('!')) return { key: labelKey(reader), operator: 'DoesNotExist' };
  const key = labelKey(reader);
  const sign = reader.next;
  if (sign === undefined || sign === ',') return { key, operator: 'Exists' };
  reader.pop();
  if (sign === 'in') return { key, operator: 'In', values: valuesOf(reader) };
  if (sign === 'notin') return { key, operator: 'NotIn', values: valuesOf(reader) };
  if (sign === '=' || sign === '==' || sign === '!=')
    return { key, operator: OPERATORS[sign], values: [valueOf(reader)] };
  return reader.fail(`${JSON.stringify(sign)} after ${key} is not one of =, ==, !=, in and notin`);
}

function labelKey(reader: Reader): string {
  const key = reader.token();
  if (key === undefined)
    return reader.fail(
      reader.next === undefined
        ? 'a label is missing at its end'
        : `a label is missing before ${JSON.stringify(reader.next)}`,
    );
  return LabelKey.safeParse(key).success
    ? key
    : reader.fail(`${JSON.stringify(key)} is not a valid label key, such as app or example.com/app`);
}

/** An empty value is valid too. */
function valueOf(reader: Reader): string {
  const value = reader.token() ?? '';
  if (LabelValue.safeParse(value).success) return value;
  return reader.fail(
    `${JSON.stringify(value)} is not a valid label value: use at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends`,
  );
}

function valuesOf(reader: Reader): string[] {
  if (!reader.skip('(')) reader.fail('values stand in parentheses, as in size in (s,m)');
  const values = [valueOf(reader)];
  while (reader.skip(',')) values.push(valueOf(reader));
  if (!reader.skip(')')) reader.fail('a "(" has no ")"');
  return values;
}

class Reader {
  readonly #text: string;
  readonly #tokens: string[];

  constructor(text: string) {
    this.#text = text;
    this.#tokens = Array.from(text.matchAll(TOKENS), ([, token]) => token!).toReversed();
  }

  get next(): string | undefined {
    return this.#tokens.at(-1);
  }

  get second(): string | undefined {
    return this.#tokens.at(-2);
  }

  pop(): string | undefined {
    return this.#tokens.pop();
  }

  skip(token: string): boolean {
    if (this.next !== token) return false;
    this.pop();
    return true;
  }

  /** Takes the next token unless it is a sign. */
  token(): string | undefined {
    return this.next === undefined || /[=!,()<>]/.test(this.next) ? undefined : this.pop();
  }

  fail(message: string): never {
    throw new RangeError(`${JSON.stringify(this.#text)} is not a valid label selector: ${message}; ${SHAPE}`);
  }
}
