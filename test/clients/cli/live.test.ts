import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Live } from '../../../clients/cli/live.ts';

function stream(terminal: { columns: number; rows: number } | undefined): {
  stream: NodeJS.WriteStream;
  written: () => string;
} {
  const through = new PassThrough();
  let written = '';
  through.on('data', (chunk: Buffer) => (written += chunk.toString()));
  const stream = Object.assign(
    through,
    terminal === undefined ? {} : { ...terminal, isTTY: true },
  ) as unknown as NodeJS.WriteStream;
  return { stream, written: () => written };
}

function live(terminal?: { columns: number; rows: number }): { live: Live; written: () => string } {
  const { stream: target, written } = stream(terminal);
  const live = new Live(target);
  onTestFinished(() => live.end());
  return { live, written };
}

test('snapshots off a terminal follow each other with their times, only when something is new, without control codes', () => {
  const { live: view, written } = live();
  view.draw(['one']);
  view.draw(['one']);
  view.draw(['two', 'lines']);
  expect(written()).toMatch(/^\d{4}-\d\d-\d\dT\S+Z\none\n\n\d{4}-\d\d-\d\dT\S+Z\ntwo\nlines\n\n$/);
});

test('a terminal that calls itself dumb gets snapshots', () => {
  vi.stubEnv('TERM', 'dumb');
  onTestFinished(() => void vi.unstubAllEnvs());
  const { live: view, written } = live({ columns: 80, rows: 24 });
  view.draw(['one']);
  expect(written()).toMatch(/^\d{4}-\d\d-\d\dT\S+Z\none\n\n$/);
});

test('a frame on a terminal replaces the last one', () => {
  const { live: view, written } = live({ columns: 80, rows: 24 });
  view.draw(['one', 'two']);
  const before = written().length;
  view.draw(['three']);
  expect(written().slice(before)).toBe('\u001B[2Fthree\u001B[K\n\u001B[0J');
});

test('a line on a terminal neither wraps nor scrolls away, or the next frame would miss its place', () => {
  const { live: view, written } = live({ columns: 10, rows: 3 });
  view.draw(['0123456789abc', 'two', 'three', 'four']);
  expect(written()).toContain('012345678…\u001B[K\ntwo\u001B[K\n');
  expect(written()).not.toContain('three');
});

test('a sentence that is too long continues in the next line, and is replaced as a whole', () => {
  const { live: view, written } = live({ columns: 16, rows: 6 });
  view.draw(['  2/7 done, 3 waiting: Waiting', 'short', 'averyverylongword here', 'five', 'six']);
  expect(written()).toContain(
    ['  2/7 done, 3', '      waiting:', '      Waiting', 'short', 'averyverylongwo…', ''].join('\u001B[K\n'),
  );
  expect(written()).not.toContain('here');
  const before = written().length;
  view.draw(['one']);
  expect(written().slice(before)).toBe('\u001B[5Fone\u001B[K\n\u001B[0J');
});

test('blocks that fit a terminal are drawn whole, and the others are counted', () => {
  const blocks = [
    ['a', '  1'],
    ['b', '  2'],
    ['c', '  3'],
  ];
  const drawn = (rows: number): string => {
    const { live: view, written } = live({ columns: 80, rows });
    view.drawBlocks('pool', blocks);
    return stripVTControlCharacters(written());
  };
  expect(drawn(9)).toBe('a\n  1\n\nb\n  2\n\nc\n  3\n');
  expect(drawn(8)).toBe('a\n  1\n\nb\n  2\n… 1 more pool: name some, or enlarge the window\n');
  expect(drawn(6)).toBe('a\n  1\n… 2 more pools: name some, or enlarge the window\n');
  // Not even the first fits: the others are counted all the same.
  expect(drawn(3)).toBe('a\n… 2 more pools: name some, or enlarge the window\n');
  const { live: view, written } = live();
  view.drawBlocks('pool', blocks);
  expect(written()).toContain('a\n  1\n\nb\n  2\n\nc\n  3\n');
});

test('the cursor is shown again at the end', () => {
  const { live: view, written } = live({ columns: 80, rows: 24 });
  view.draw(['one']);
  view.end();
  expect(written().startsWith('\u001B[?25l')).toBe(true);
  expect(written().endsWith('\u001B[?25h')).toBe(true);
});
