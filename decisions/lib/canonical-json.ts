/** Punctuation between values, to tell it from a string value. */
class Mark {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const COMMA = new Mark(',');

/**
 * Returns JSON with sorted keys, so that equal values have equal texts; keys with undefined values are left out. Not
 * recursive: objects from the API server may be nested deeper than the stack allows.
 */
export function canonical(value: unknown): string {
  let text = '';
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (next instanceof Mark) text += next.text;
    else if (typeof next !== 'object' || next === null) text += JSON.stringify(next) ?? 'null';
    else if (Array.isArray(next)) {
      text += '[';
      open.push(new Mark(']'));
      for (let index = next.length - 1; index >= 0; index--) {
        open.push(next[index]);
        if (index > 0) open.push(COMMA);
      }
    } else {
      const fields = next as Record<string, unknown>;
      const keys = Object.keys(fields)
        .filter((key) => fields[key] !== undefined)
        .toSorted()
        .toReversed();
      text += '{';
      open.push(new Mark('}'));
      for (const [index, key] of keys.entries())
        open.push(fields[key], new Mark(`${index === keys.length - 1 ? '' : ','}${JSON.stringify(key)}:`));
    }
  }
  return text;
}
