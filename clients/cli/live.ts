import { stripVTControlCharacters } from 'node:util';
import { printable } from '../../api/lib/plain-text.ts';
import { paint, print, printData, type DataFormat } from './print.ts';

const HIDE_CURSOR = '\u001B[?25l';
const SHOW_CURSOR = '\u001B[?25h';
const CLEAR_TO_END = '\u001B[0J';
const CLEAR_LINE = '\u001B[K';
/** Reports whether lines can be replaced in place: a terminal that calls itself dumb, as in editors, can't do that. */
export const isLiveTerminal = ({ isTTY }: NodeJS.WriteStream): boolean => isTTY && process.env['TERM'] !== 'dumb';
const up = (lines: number): string => (lines === 0 ? '' : `\u001B[${lines}F`);

/**
 * Shows changing lines: in place on a terminal; elsewhere as a sequence of snapshots with their times, and only when
 * something is new. Sentences that are too long for a terminal are wrapped.
 */
export class Live {
  readonly #stream: NodeJS.WriteStream;
  #drawn = 0;
  #last = '';
  readonly #restore = (): void => void this.#stream.write(SHOW_CURSOR);

  constructor(stream: NodeJS.WriteStream = process.stdout) {
    this.#stream = stream;
    if (!isLiveTerminal(stream)) return;
    stream.write(HIDE_CURSOR);
    process.once('exit', this.#restore);
  }

  draw(drawn: string[]): void {
    const lines = drawn.map(printable);
    const text = lines.join('\n');
    if (!isLiveTerminal(this.#stream)) {
      if (text !== this.#last) this.#stream.write(`${new Date().toISOString()}\n${text}\n\n`);
    } else {
      const shown = lines
        .flatMap((line) => folded(line, this.#columns))
        .slice(0, this.#rows)
        .map((line) => `${fit(line, this.#columns)}${CLEAR_LINE}\n`);
      // Some terminals keep a screen that is cleared as a whole: each line is written over instead.
      this.#stream.write(`${up(this.#drawn)}${shown.join('')}${CLEAR_TO_END}`);
      this.#drawn = shown.length;
    }
    this.#last = text;
  }

  /**
   * Draws blocks of lines, one for each object of this `noun`, with an empty line between them. If a terminal can't
   * hold all, the last line counts the others.
   */
  drawBlocks(noun: string, blocks: string[][]): void {
    const lines = (count: number): string[] =>
      blocks.slice(0, count).flatMap((block, index) => (index === 0 ? block : ['', ...block]));
    const height = (count: number): number => lines(count).flatMap((line) => folded(line, this.#columns)).length;
    let count = blocks.length;
    if (isLiveTerminal(this.#stream))
      while (count > 1 && height(count) + (count < blocks.length ? 1 : 0) > this.#rows) count--;
    const hidden = blocks.length - count;
    const more = `… ${hidden} more ${noun}${hidden === 1 ? '' : 's'}: name some, or enlarge the window`;
    if (hidden === 0) return this.draw(lines(count));
    const shown = isLiveTerminal(this.#stream)
      ? lines(count)
          .flatMap((line) => folded(line, this.#columns))
          .slice(0, this.#rows - 1)
      : lines(count);
    this.draw([...shown, paint('yellow', more)]);
  }

  get #columns(): number {
    return this.#stream.columns || 80;
  }

  /** One line stays free for the cursor. */
  get #rows(): number {
    return Math.max(1, (this.#stream.rows || 24) - 1);
  }

  /** Leaves what was drawn last; what is printed next comes below it. */
  end(): void {
    if (!isLiveTerminal(this.#stream)) return;
    process.off('exit', this.#restore);
    this.#restore();
  }
}

/** Cuts a line that is too long, since a wrapped line would count twice. Such a line loses its colours. */
function fit(line: string, columns: number): string {
  const bare = stripVTControlCharacters(line);
  return bare.length <= columns ? line : `${bare.slice(0, columns - 1)}…`;
}

/** Wraps a line that is too long between words, and indents the further lines. Such a line loses its colours. */
function folded(line: string, columns: number): string[] {
  const bare = stripVTControlCharacters(line);
  if (bare.length <= columns) return [line];
  const [indent = ''] = /^ */.exec(bare) ?? [];
  const lines = [indent];
  for (const word of bare.trim().split(' ')) {
    const last = lines.at(-1)!;
    const longer = last.trim() === '' ? `${last}${word}` : `${last} ${word}`;
    if (longer.length <= columns || last.trim() === '') lines[lines.length - 1] = longer;
    else lines.push(`${indent}    ${word}`);
  }
  return lines;
}

const REDRAW_MS = 1_000;

/** How something is shown: as a few lines for users, or as data for programs. */
export interface Shown<View> {
  output?: DataFormat | undefined;
  /** `now`: milliseconds since the epoch. */
  blockOf: (view: View, now: number) => string[];
}

/** Prints views once. */
export async function printViews<View>(views: readonly View[], { output, blockOf }: Shown<View>): Promise<void> {
  if (output !== undefined) return printData(views.length === 1 ? views[0] : { items: views }, output);
  print(views.map((view) => blockOf(view, Date.now()).join('\n')).join('\n\n'));
}

/** Shows views as they change: in place on a terminal, elsewhere as one snapshot after the other. */
export class Board<View> {
  readonly #shown: Shown<View>;
  readonly #noun: string;
  readonly #live: Live | undefined;
  readonly #redraw: NodeJS.Timeout | undefined;
  #views: readonly View[] = [];
  #drawn = '';
  #printing = Promise.resolve();

  /** `noun`: what each view is of. */
  constructor(noun: string, shown: Shown<View>) {
    this.#noun = noun;
    this.#shown = shown;
    if (shown.output !== undefined) return;
    this.#live = new Live();
    // Ages need a redraw only in place: in a log, each snapshot is as of its time.
    if (isLiveTerminal(process.stdout)) this.#redraw = setInterval(() => this.#draw(), REDRAW_MS);
  }

  show(views: readonly View[]): void {
    this.#views = views;
    const text = JSON.stringify(views);
    if (text !== this.#drawn) this.#draw();
    this.#drawn = text;
  }

  /** Leaves what was shown last. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#redraw);
    this.#live?.end();
    await this.#printing;
  }

  #draw(): void {
    const views = this.#views;
    const { output, blockOf } = this.#shown;
    if (this.#live !== undefined)
      this.#live.drawBlocks(
        this.#noun,
        views.map((view) => blockOf(view, Date.now())),
      );
    else
      this.#printing = this.#printing.then(() => {
        if (output === 'yaml') print('---');
        return printViews(views, this.#shown);
      });
  }
}
