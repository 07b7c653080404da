/**
 * Returns a matcher by the rules of Go's `path.Match`: `*` matches any run of characters except `/`, `?` one of them,
 * `[a-z]` one of a class, `[^a-z]` one not in it; `\` escapes a character. The whole name must match. Throws a
 * `RangeError` for a malformed glob.
 */
export function globMatcher(glob: string): (name: string) => boolean {
  const [first = '', ...runs] = runsOf(new Reader(glob));
  const last = runs.pop();
  // What follows a star is matched at the first place where it fits, as in Go, which leaves the most room for the rest:
  // a lookahead never tries another place, however many stars there are.
  const middle = runs.map((run, index) => `(?=([^/]*?${run}))\\${index + 1}`);
  const pattern = new RegExp(`^${first}${middle.join('')}${last === undefined ? '' : `[^/]*${last}`}$`, 'su');
  return (name) => pattern.test(name);
}

/** The parts of a glob between its stars, as regular expressions. */
function runsOf(reader: Reader): string[] {
  const runs = [''];
  while (!reader.atEnd) {
    const character = reader.read();
    if (character === '*') runs.push('');
    else runs.push(`${runs.pop()}${one(character, reader)}`);
  }
  return runs;
}

function one(character: string, reader: Reader): string {
  if (character === '?') return '[^/]';
  if (character === '[') return classOf(reader);
  return literal(character === '\\' ? reader.read('nothing follows its last "\\"') : character);
}

const literal = (character: string): string => `\\u{${character.codePointAt(0)!.toString(16)}}`;

function classOf(reader: Reader): string {
  const isNegated = reader.skip('^');
  const ranges: [low: string, high: string][] = [];
  while (ranges.length === 0 || !reader.skip(']')) {
    const low = endOf(reader);
    ranges.push([low, reader.skip('-') ? endOf(reader) : low]);
  }
  // A range whose end comes before its beginning has nothing in it.
  const filled = ranges.filter(([low, high]) => low.codePointAt(0)! <= high.codePointAt(0)!);
  return `[${isNegated ? '^' : ''}${filled.map(([low, high]) => `${literal(low)}-${literal(high)}`).join('')}]`;
}

/** One end of a range in a class. */
function endOf(reader: Reader): string {
  const character = reader.read('a "[" has no "]"');
  if (character === ']' || character === '-')
    reader.fail(`a "${character}" in a class is not a character; write "\\${character}" for itself`);
  return character === '\\' ? reader.read('nothing follows its last "\\"') : character;
}

class Reader {
  readonly #glob: string;
  readonly #characters: string[];
  #at = 0;

  constructor(glob: string) {
    this.#glob = glob;
    this.#characters = Array.from(glob);
  }

  get atEnd(): boolean {
    return this.#at === this.#characters.length;
  }

  read(orElse = 'it ends too early'): string {
    return this.#characters[this.#at++] ?? this.fail(orElse);
  }

  skip(character: string): boolean {
    if (this.#characters[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  fail(message: string): never {
    throw new RangeError(`${JSON.stringify(this.#glob)} is not a valid glob: ${message}`);
  }
}
