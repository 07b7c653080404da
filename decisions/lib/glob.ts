/** Whether a character of a name matches. */
type Fits = (character: string) => boolean;

/**
 * A run of a pattern: consecutive characters, each of which must fit; with `star`, preceded by any characters except
 * `/`.
 */
interface GlobRun {
  star: boolean;
  fits: Fits[];
}

/**
 * Returns a matcher by the rules of Go's `path.Match`: `*` matches any run of characters except `/`, `?` one of them,
 * `[a-z]` one of a class, `[^a-z]` one not in it; `\` escapes a character. The whole name must match. Throws a
 * `RangeError` for a malformed glob.
 */
export function globMatcher(glob: string): (name: string) => boolean {
  const runs = globRuns(glob);
  return (name) => matches(runs, Array.from(name));
}

/** Matches each run at the first place where it fits, as Go does: that leaves the most room for the runs after it. */
function matches(runs: readonly GlobRun[], name: readonly string[]): boolean {
  let at = 0;
  for (const [index, run] of runs.entries()) {
    const start = startOf(run, name, at, index === runs.length - 1);
    if (start === null) return false;
    at = start + run.fits.length;
  }
  return at === name.length;
}

function startOf({ star, fits }: GlobRun, name: readonly string[], from: number, isLast: boolean): number | null {
  for (let start = from; start + fits.length <= name.length; start++) {
    const reaches = !isLast || start + fits.length === name.length;
    if (reaches && fits.every((fit, index) => fit(name[start + index]!))) return start;
    if (!star || name[start] === '/') return null;
  }
  return null;
}

function globRuns(glob: string): GlobRun[] {
  const reader = new Reader(glob);
  const runs: GlobRun[] = [{ star: false, fits: [] }];
  while (!reader.atEnd) {
    const { fits, star } = runs.at(-1)!;
    const character = reader.take();
    if (character === '*') {
      if (!star || fits.length > 0) runs.push({ star: true, fits: [] });
    } else fits.push(fitOf(character, reader));
  }
  return runs;
}

function fitOf(character: string, reader: Reader): Fits {
  if (character === '?') return (other) => other !== '/';
  if (character === '[') return classOf(reader);
  const meant = character === '\\' ? reader.take('nothing follows its last "\\"') : character;
  return (other) => other === meant;
}

function classOf(reader: Reader): Fits {
  const isNegated = reader.skip('^');
  const ranges: [low: number, high: number][] = [];
  while (ranges.length === 0 || !reader.skip(']')) {
    const low = endOf(reader);
    ranges.push([low, reader.skip('-') ? endOf(reader) : low]);
  }
  return (other) => {
    const code = other.codePointAt(0)!;
    return ranges.some(([low, high]) => low <= code && code <= high) !== isNegated;
  };
}

/** One end of a range in a class. */
function endOf(reader: Reader): number {
  const character = reader.take('a "[" has no "]"');
  if (character === ']' || character === '-')
    reader.fail(`a "${character}" in a class is not a character; write "\\${character}" for itself`);
  return (character === '\\' ? reader.take('nothing follows its last "\\"') : character).codePointAt(0)!;
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

  take(orElse = 'it ends too early'): string {
    return this.#characters[this.#at++] ?? this.fail(orElse);
  }

  skip(character: string): boolean {
    if (this.#characters[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  fail(why: string): never {
    throw new RangeError(`${JSON.stringify(this.#glob)} is not a valid glob: ${why}`);
  }
}
