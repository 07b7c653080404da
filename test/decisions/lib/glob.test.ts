import fc from 'fast-check';
import { expect, test } from 'vitest';
import { globMatcher } from '../../../decisions/lib/glob.ts';

test.each<[glob: string, name: string, matches: boolean]>([
  ['*rhel8.*', 'pc-q35-rhel8.2.0', true],
  ['*rhel8.*', 'pc-q35-rhel9.2.0', false],
  // One hyphen too many, as in the proposal.
  ['*rhel-8.*', 'pc-q35-rhel8.2.0', false],
  ['pc-q35-rhel[78].*', 'pc-q35-rhel8.2.0', true],
  ['pc-q35-rhel[^9].*', 'pc-q35-rhel9.2.0', false],
  ['q35', 'q35', true],
  ['q35', 'pc-q35', false],
  ['', '', true],
  ['', 'a', false],
  ['*', '', true],
  ['*', 'web/db-1', false],
  ['web/*', 'web/db-1', true],
  ['*/db-?', 'web/db-1', true],
  ['a?b', 'a/b', false],
  // As in Go: a class matches "/" too, and what follows a star is matched at the first position that fits.
  ['a[^c]b', 'a/b', true],
  ['*[^c]*b', 'a/b', false],
  ['a**b', 'ab', true],
  ['[!a]', '!', true],
  ['[!a]', 'b', false],
  ['[^a-c]', 'd', true],
  ['[z-a]', 'b', false],
  ['[\\]]', ']', true],
  ['[a\\-z]', '-', true],
  ['[[]', '[', true],
  ['{a,b}', 'a', false],
  ['{a,b}', '{a,b}', true],
  ['\\*', '*', true],
  ['\\*', 'a', false],
  ['?', 'é', true],
  ['[α-ω]*', 'λ1', true],
])('%s on %s: %s', (glob, name, matches) => expect(globMatcher(glob)(name)).toBe(matches));

test.each([
  ['[', 'a "[" has no "]"'],
  ['[a', 'a "[" has no "]"'],
  ['*rhel[8', 'a "[" has no "]"'],
  ['[^', 'a "[" has no "]"'],
  ['[]', 'a "]" in a class is not a character; write "\\]" for itself'],
  ['[]a]', 'a "]" in a class is not a character; write "\\]" for itself'],
  ['[--', 'a "-" in a class is not a character; write "\\-" for itself'],
  ['[a-]', 'a "]" in a class is not a character; write "\\]" for itself'],
  ['a\\', 'nothing follows its last "\\"'],
  ['[\\', 'nothing follows its last "\\"'],
])('%s is not a glob', (glob, why) =>
  expect(() => globMatcher(glob)).toThrow(new RangeError(`${JSON.stringify(glob)} is not a valid glob: ${why}`)),
);

/** A piece of a glob, and the same as a regular expression. */
const piece = fc.oneof(
  fc.constant(['*', '[^/]*']),
  fc.constant(['?', '[^/]']),
  fc.constantFrom('a', 'b', '-', '.', 'é').map((letter) => [letter, letter.replace('.', '\\.')]),
  fc.constantFrom('*', '?', '[', '\\', 'a').map((letter) => [`\\${letter}`, letter === 'a' ? 'a' : `\\${letter}`]),
  fc.constantFrom('[a-c]', '[^a-c]', '[ab]', '[^b.]', '[é]').map((letters) => [letters, letters]),
);

// Names have no "/": with one, Go's greedy search and a regular expression differ.
test('a glob matches as the equivalent regular expression does', () => {
  const names = fc.string({ unit: fc.constantFrom('a', 'b', 'd', '-', '.', 'é', '*'), maxLength: 8 });
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), names, (pieces, name) => {
      const glob = pieces.map(([text]) => text).join('');
      const expression = new RegExp(`^${pieces.map(([, text]) => text).join('')}$`, 'u');
      expect(globMatcher(glob)(name), `${glob} on ${name}`).toBe(expression.test(name));
    }),
    { numRuns: 2_000 },
  );
});

test('a long glob of stars is matched quickly', () => {
  expect(globMatcher('*a'.repeat(200))(`${'a'.repeat(5_000)}b`)).toBe(false);
});

test('a glob is read or refused in one sentence, whatever it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', '[', ']', '^', '-', '\\', '*', '?', '/') }), (glob) => {
      try {
        globMatcher(glob)('a');
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
        expect((error as Error).message).toMatch(/ is not a valid glob: [^\n]+$/);
      }
    }),
  );
});
