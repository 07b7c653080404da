import { describe, expect, it } from 'vitest';
import { ManifestErrors, parseManifests } from '../../../api/manifest/manifest.ts';
import { readDocuments } from '../../../api/manifest/yaml-documents.ts';

const valueOf = (text: string): unknown => {
  const [document, ...others] = readDocuments(text);
  expect(others).toEqual([]);
  expect(document?.faults).toEqual([]);
  return document?.value;
};

function refusalOf(text: string): string {
  try {
    parseManifests(text, 'f.yaml');
  } catch (error) {
    if (error instanceof ManifestErrors) return error.message;
    throw error;
  }
  throw new Error('it was not refused');
}

describe('scalars', () => {
  // As kubectl 1.32 reads them; the integration test compares with kubectl itself.
  it.each<[string, unknown]>([
    ['yes', true],
    ['Off', false],
    ['y', true],
    ['TRUE', true],
    ['"on"', 'on'],
    ['0644', 420],
    ['0o17', 15],
    ['0xFF', 255],
    ['0b11', 3],
    ['1_000', 1000],
    ['+12', 12],
    ['1e3', 1000],
    ['.5', 0.5],
    ['e1', 'e1'],
    ['12:30:45', '12:30:45'],
    ['2020-01-01', '2020-01-01'],
    ['2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z'],
    ['~', null],
    ['Null', null],
    ['=', '='],
    ['9007199254740991', 9007199254740991],
  ])('%s', (text, value) => {
    expect(valueOf(`a: ${text}`)).toEqual({ a: value });
  });

  it('are merged from an anchor, and repeated by an alias', () => {
    const value = valueOf('a: &a {x: 1}\nb: {<<: *a, z: 2}\nc: *a\n') as { a: object; c: object };
    expect(value).toEqual({ a: { x: 1 }, b: { x: 1, z: 2 }, c: { x: 1 } });
    expect(value.a).not.toBe(value.c);
  });

  it('are keys as texts', () => {
    expect(valueOf('8080: a\ne1: b\n')).toEqual({ '8080': 'a', e1: 'b' });
  });
});

describe('a text that is not YAML', () => {
  it.each([
    [
      'a key twice',
      'a: 1\nb:\n  c: 1\n  c: 2\n',
      'f.yaml:4:3 (document 1): the key c appears twice in one object: keep one of them',
    ],
    ['a tab', 'a:\n\tb: 1\n', 'f.yaml:2:1 (document 1): a tab indents this line: YAML takes only spaces'],
    [
      'a tab, and what follows from it',
      'spec:\n\ta: 1\n\tb:\n\t\ta: 1\n',
      'f.yaml:2:1 (document 1): a tab indents this line: YAML takes only spaces',
    ],
    [
      'two objects without a separator, as jq prints them',
      '{"a": 1}\n{"a": 2}\n',
      'f.yaml:2:1 (document 1): more follows what ends before this: write --- on its own line between two objects',
    ],
    [
      'a bad indentation',
      'a:\n  b: 1\n c: 2\n',
      'f.yaml:3:1 (document 1): this line is indented neither like the one above it nor as a part of it',
    ],
    [
      'an open bracket',
      'a: [\nb: c\n',
      'f.yaml:2:1 (document 1): a [ or { is not closed before this line, or what it holds is not indented',
    ],
    [
      'a colon too many',
      'a: b: c\n',
      'f.yaml:1:4 (document 1): a value is followed by more keys: put a text that holds ": " in quotes, or check the indentation of the next line',
    ],
    ['an open quote', 'a: "b\nc: d\n', 'f.yaml:3:1 (document 1): invalid YAML: missing closing "quote'],
    ['a tag', 'a: !mine b\n', 'f.yaml:1:4 (document 1): invalid YAML: unresolved tag: !mine'],
    ['an alias of nothing', 'a: *b\n', 'f.yaml:1:4 (document 1): *b repeats nothing: &b must come before it'],
    ['an alias of itself', 'a: &a\n  b: *a\n', 'f.yaml:2:6 (document 1): *a stands inside of what it repeats'],
    [
      'a number that JSON has not',
      'a: .inf\n',
      'f.yaml:1:4 (document 1): .inf is not a number that JSON can represent',
    ],
    [
      'a number too long',
      'a: 9007199254740993\n',
      'f.yaml:1:4 (document 1): 9007199254740993 is too long a number to be kept exactly; if a text or a quantity is meant, put it in quotes',
    ],
    [
      'nothing',
      ' \n',
      'f.yaml: the file is empty: it should hold a VirtualMachinePool, VirtualMachineReplicaSet, VirtualMachineInstanceReplicaSet, VirtualMachineDisruptionBudget or ClusterVirtualMachineDisruptionBudget',
    ],
    ['only comments', '# a\n---\n# b\n---\n', 'f.yaml: the file holds no object, only comments or separators'],
  ])('holds %s', (_, text, refusal) => {
    expect(refusalOf(text)).toBe(refusal);
  });

  it('is refused before aliases of aliases fill the memory', () => {
    const bomb = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
    for (let i = 1; i < 12; i++)
      bomb.push(
        `a${i}: &a${i} [${Array(9)
          .fill(`*a${i - 1}`)
          .join(', ')}]`,
      );
    expect(refusalOf(bomb.join('\n'))).toBe('f.yaml:1:1 (document 1): aliases repeat too much of this document');
  });
});

describe('the places of values', () => {
  const [document] = readDocuments('# c\na:\n  b:\n  - c: 1\n    d: on\n\n  "e f": &x\n    g: 1\nh: *x\n');

  it.each<[PropertyKey[], number]>([
    [['a'], 2],
    [['a', 'b', 0], 4],
    [['a', 'b', 0, 'd'], 5],
    [['a', 'e f', 'g'], 8],
    [['a', 'b', 0, 'missing', 'below'], 4],
    [['a', 'missing'], 2],
    [['h', 'g'], 8],
  ])('of %j: line %d', (path, line) => {
    expect(document?.lineOf(path)).toBe(line);
  });

  it('tell how a scalar is written', () => {
    expect(document?.written(['a', 'b', 0, 'd'])).toBe('on');
    expect(document?.written(['a', 'b'])).toBeUndefined();
  });
});
