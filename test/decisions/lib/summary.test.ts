import fc from 'fast-check';
import { expect, test } from 'vitest';
import { summary } from '../../../decisions/lib/summary.ts';

const bytes = (text: string): number => Buffer.byteLength(JSON.stringify(text));

test('a summary stays the same if Temporal accepts it', () => {
  expect(summary('wait for web-1')).toBe('wait for web-1');
  expect(summary('x'.repeat(300))).toBe('x'.repeat(300));
});

test('a longer one is cut by its bytes, between letters of any kind', () => {
  expect(summary('x'.repeat(301))).toBe(`${'x'.repeat(297)}…`);
  expect(summary('再起動'.repeat(100))).toBe(`${'再起動'.repeat(33)}…`);
  expect(summary('🐂'.repeat(200))).toBe(`${'🐂'.repeat(74)}…`);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 500 }), (text) => {
      expect(bytes(summary(text))).toBeLessThanOrEqual(302);
    }),
  );
});

test('every workflow and client cuts the summaries that it gives to Temporal', async () => {
  const { readdirSync, readFileSync } = await import('node:fs');
  const files = ['workflows', 'clients'].flatMap((room) =>
    readdirSync(room, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${room}/${name}`),
  );
  const cut = /\b(?:summary|staticSummary): (?!summary\(|string\b|wait\.summary|')/;
  const wrong = files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, index) => (cut.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
  );
  expect(wrong).toEqual([]);
});
