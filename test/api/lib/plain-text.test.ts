import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { plainText, printable } from '../../../api/lib/plain-text.ts';
import { serialize } from '../../../clients/cli/print.ts';

const HOSTILE = 'a\u001B[2J\u0085b\u202Ec\r\nd\u001B]0;x\u0007';

test('foreign text cannot control a terminal, and stays on its line', () => {
  expect(plainText(HOSTILE)).toBe('a [2J b\\u202ec d ]0;x ');
});

test("lines in drover's own colours keep them, and nothing else does", () => {
  expect(printable('\u001B[31mred\u001B[39m\tx\n\u001B[1mbold\u001B[22m')).toBe(
    '\u001B[31mred\u001B[39m\tx\n\u001B[1mbold\u001B[22m',
  );
  expect(printable(`\u001B[31m${HOSTILE.replace('\n', '')}\u001B[39m \u001B[8mhidden`)).toBe(
    '\u001B[31ma [2J b\\u202ec d ]0;x \u001B[39m  [8mhidden',
  );
});

test.each(['json', 'yaml'] as const)(
  'an object as %s has the same content, with control characters escaped',
  async (format) => {
    const object = {
      kind: 'Pool',
      metadata: { name: 'web', annotations: { [HOSTILE]: HOSTILE, b: '\u202Eevil', c: 'plain' } },
    };
    const text = await serialize(object, format);
    expect(printable(text)).toBe(text);
    expect(parse(text)).toEqual(object);
  },
);
