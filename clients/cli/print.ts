import { styleText } from 'node:util';
import { plainJson, plainText, printable } from '../../api/lib/plain-text.ts';
import { withoutManagedFields, type New } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';

export type DataFormat = 'json' | 'yaml';

export type Style = 'green' | 'yellow' | 'red' | 'gray' | 'bold' | 'cyan';
/** A cell of a table, with its colour for terminals that show one. */
/** How a state is coloured, by how good or bad it is. */
export const TONES = { good: 'green', bad: 'red', warn: 'yellow', busy: 'cyan' } as const satisfies Record<
  string,
  Style
>;

export type Cell = string | number | { text: string; style: Style };

/** Removes what would act on the terminal from a name or a message. */
export const plain = plainText;

/** Colours text on a terminal; leaves it as it is elsewhere and under NO_COLOR. */
export const paint = (style: Style, text: string): string => styleText(style, text, { stream: process.stdout });

export function print(text: string | readonly string[]): void {
  process.stdout.write(`${printable(typeof text === 'string' ? text : text.join('\n'))}\n`);
}

/** Prints a remark for users to stderr, apart from the command's output. */
export function printNote(text: string): void {
  process.stderr.write(`${printable(text)}\n`);
}

/** What a command has done, in a sentence, and what else users should know. */
export interface CommandResult {
  sentence: string;
  notes: string[];
}

export function printResult({ sentence, notes }: CommandResult): void {
  print(sentence);
  for (const note of notes) printNote(note);
}

export const printBrokenWatch = ({ message }: Error): void =>
  printNote(`the watch failed and is being restarted: ${plain(message.trim())}`);

const textOf = (cell: Cell): string => plain(typeof cell === 'object' ? cell.text : String(cell));

/** Returns the lines of a table: upper-case headers, columns three spaces apart, nothing after the last one. */
export function table(headers: string[], rows: Cell[][], options: { headers?: boolean } = {}): string[] {
  const widths = headers.map((header, index) =>
    Math.max(header.length, ...rows.map((row) => textOf(row[index] ?? '').length)),
  );
  const line = (cells: Cell[]): string =>
    cells
      .map((cell, index) => {
        const text = textOf(cell);
        const gap = index === cells.length - 1 ? '' : ' '.repeat(widths[index]! - text.length + 3);
        return (typeof cell === 'object' ? paint(cell.style, text) : text) + gap;
      })
      .join('')
      .trimEnd();
  return [...(options.headers === false ? [] : [headers]), ...rows].map(line);
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Returns the time since `time`, as short as in kubectl: `5s`, `3m`, `4h12m`, `2d`. */
export function ageOf(time: string | undefined, now = Date.now()): string {
  const since = time === undefined ? NaN : Date.parse(time);
  return Number.isNaN(since) ? '<unknown>' : shortDuration(now - since);
}

export function shortDuration(ms: number): string {
  if (ms < 2 * MINUTE) return `${Math.max(0, Math.floor(ms / SECOND))}s`;
  if (ms < 10 * MINUTE) return inTwo(ms, [MINUTE, 'm'], [SECOND, 's']);
  if (ms < 3 * HOUR) return `${Math.floor(ms / MINUTE)}m`;
  if (ms < 8 * HOUR) return inTwo(ms, [HOUR, 'h'], [MINUTE, 'm']);
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)}h`;
  if (ms < 8 * DAY) return inTwo(ms, [DAY, 'd'], [HOUR, 'h']);
  if (ms < 2 * 365 * DAY) return `${Math.floor(ms / DAY)}d`;
  return inTwo(ms, [365 * DAY, 'y'], [DAY, 'd']);
}

function inTwo(ms: number, [large, largeName]: [number, string], [small, smallName]: [number, string]): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)}${largeName}${rest === 0 ? '' : `${rest}${smallName}`}`;
}

/** Returns for example `virtualmachinepool.drover.dev/web`, as kubectl names an object in its answers. */
export const labelOf = ({ kind, group }: Resource, name: string): string =>
  `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${name}`;

/** Returns the suffix of a sentence that says what a command did. */
export function dryRunSuffix(where: string): string {
  if (where === 'none') return '';
  return where === 'server' ? ' (server dry run)' : ' (dry run)';
}

const YAML = { indentSeq: false, lineWidth: 0, version: '1.1' } as const;

/** Serializes objects for programs; several as one `List`. */
export async function serialize(objects: New | New[], format: DataFormat): Promise<string> {
  const whole = Array.isArray(objects)
    ? { apiVersion: 'v1', items: objects, kind: 'List', metadata: { resourceVersion: '' } }
    : objects;
  if (format === 'json') return plainJson(JSON.stringify(whole, null, 4));
  const { stringify } = await import('yaml');
  const text = stringify(whole, YAML).trimEnd();
  // In double quotes, an escape can replace each character that would act on a terminal.
  return printable(text) === text
    ? text
    : plainJson(
        stringify(whole, { ...YAML, defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'QUOTE_DOUBLE' }).trimEnd(),
      );
}

/** Prints data other than Kubernetes objects, for programs to read. */
export async function printData(data: unknown, format: DataFormat): Promise<void> {
  if (format === 'json') return print(JSON.stringify(data, null, 4));
  const { stringify } = await import('yaml');
  print(stringify(data, { ...YAML, aliasDuplicateObjects: false }).trimEnd());
}

/** Prints what was asked for by one name as it is, and anything else as `items`. */
export const printItems = (
  data: readonly unknown[],
  format: DataFormat,
  { isOne }: { isOne: boolean },
): Promise<void> => printData(isOne ? data[0] : { items: data }, format);

/** Prints objects as kubectl does: a named one as it is, and others as a list that kubectl accepts. */
export async function printObjects(
  objects: readonly New[],
  format: DataFormat,
  { isOne }: { isOne: boolean },
): Promise<void> {
  const shown = objects.map(withoutManagedFields);
  print(await serialize(isOne ? shown[0]! : shown, format));
}

/** Draws how much of a whole is ready. */
export function bar(ready: number, desired: number): string {
  const full = desired === 0 ? BAR : Math.min(BAR, Math.floor((ready / desired) * BAR));
  return paint(ready >= desired ? 'green' : 'yellow', '█'.repeat(full)) + paint('gray', '░'.repeat(BAR - full));
}

const BAR = 20;
