import type { Paged } from '../contract/requests.ts';

/** A table of more rows is slow to draw, and nobody reads it. */
const PAGE = 200;

/** What was read, all of it. */
export interface Read<Line> {
  lines: Line[];
  notes: string[];
}

/** The page, by the number and the words of an address, of the lines in which something has these words. */
export function paged<Line extends object>(
  { lines, notes }: Read<Line>,
  [number = '1', ...looked]: readonly string[],
): Paged<Line> {
  const looksFor = looked.join('/').toLowerCase();
  const found =
    looksFor === ''
      ? lines
      : lines.filter((line) =>
          Object.values(line).some((text) =>
            String(text ?? '')
              .toLowerCase()
              .includes(looksFor),
          ),
        );
  const pages = Math.max(1, Math.ceil(found.length / PAGE));
  const page = Math.min(Math.max(1, Math.trunc(Number(number)) || 1), pages);
  return { lines: found.slice((page - 1) * PAGE, page * PAGE), page, pages, count: found.length, notes };
}
