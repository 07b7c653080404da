import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { mergeCrds, readCrds } from '../../../dev/crds/crds.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'drover-crds-'));
  file = join(folder, 'crds');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const crd = (
  name: string,
  note = '',
): { apiVersion: string; kind: string; metadata: { name: string }; spec: object } => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name },
  spec: { note },
});
const names = (): string[] => readCrds(file).map(({ metadata: { name } }) => name);

test('CRDs are read from a JSON List', () => {
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [crd('a.x'), crd('b.x')] }));
  expect(names()).toEqual(['a.x', 'b.x']);
});

test('CRDs are read from many YAML documents, among other kinds', () => {
  const documents = [crd('a.x'), { kind: 'Namespace', metadata: { name: 'kubevirt' } }, crd('b.x')];
  writeFileSync(
    file,
    `---\n# a comment\n${documents.map((document) => JSON.stringify(document, null, 2)).join('\n---\n')}\n---\n`,
  );
  expect(names()).toEqual(['a.x', 'b.x']);
});

test.each([
  ['{"kind": ', /crds can't be read as CustomResourceDefinitions: /],
  ['a: [1', /crds can't be read as CustomResourceDefinitions: /],
  ['kind: Namespace\nmetadata: {name: kubevirt}', /crds holds no CustomResourceDefinition; give a file/],
])('a file that holds %j is an error that names it', (text, sentence) => {
  writeFileSync(file, text);
  expect(() => readCrds(file)).toThrow(sentence);
});

test('a missing file is an error that names it', () => {
  expect(() => readCrds(file)).toThrow(`${file} can't be read as CustomResourceDefinitions: no such file`);
});

test("given CRDs replace the stack's own of the same name, and join the others", () => {
  const merged = mergeCrds([crd('a.x', 'own'), crd('b.x', 'own')], [crd('b.x', 'given'), crd('c.x', 'given')]);
  expect(merged).toEqual([crd('a.x', 'own'), crd('b.x', 'given'), crd('c.x', 'given')]);
});
