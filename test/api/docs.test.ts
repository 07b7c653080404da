import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { droverCrds } from '../../api/crd/crds.ts';
import type { StructuralSchema } from '../../api/crd/structural-schema.ts';
import { structuralSchema } from '../../api/crd/structural-schema.ts';
import { parseManifests } from '../../api/manifest/manifest.ts';
import { ClusterVirtualMachineOperation, VirtualMachineOperation } from '../../api/operations/operation.ts';
import { VirtualMachineInstanceReplicaSet, VirtualMachineReplicaSet } from '../../api/replica-set/replica-set.ts';
import { REFERENCE_FOLDER, referenceFiles } from '../../deploy/generate-reference.ts';
import { barePool } from './pools.ts';

const ROOT = new URL('../../', import.meta.url);
/** The pages about pools. */
const PAGES = ['pools', 'status', 'updates', 'scaling', 'membership', 'healing'];
const text = PAGES.map((page) => readFileSync(new URL(`docs/${page}.md`, ROOT), 'utf8')).join('\n');
const blocks = [...text.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, yaml]) => yaml!);

/** Fields of Kubernetes' and KubeVirt's own types, which are documented there. */
const KNOWN_ELSEWHERE = new Set(['conditions', 'matchExpressions', 'dataVolumeTemplates']);

function fieldsOf(schema: StructuralSchema): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => [
    name,
    ...(KNOWN_ELSEWHERE.has(name) ? [] : fieldsOf(property.items ?? property)),
  ]);
}

describe('the pages about pools', () => {
  const { spec, status } = droverCrds()[0]!.spec.versions[0]!.schema.openAPIV3Schema.properties!;

  it.each([
    ['spec', spec!],
    ['status', status!],
  ])('names every field of the %s', (_, schema) => {
    const words = new Set([...text.matchAll(/`([^`\n]+)`/g)].flatMap(([, code]) => code!.split(/[^A-Za-z]+/)));
    expect(fieldsOf(schema).filter((name) => !words.has(name))).toEqual([]);
  });

  it('shows a pool, and parts of one, that drover accepts without a warning', () => {
    expect(blocks).toHaveLength(6);
    for (const block of blocks) {
      const shown = parse(block) as object;
      const pool = 'kind' in shown ? block : stringify(barePool(shown));
      expect(parseManifests(pool, 'pools.md').flatMap(({ notes }) => notes)).toEqual([]);
    }
  });
});

/** What becomes of a manifest of a set or an operation; undefined for one of a pool. */
function setIn(manifest: string) {
  const object = parse(manifest) as { kind: string };
  if (object.kind === 'VirtualMachineOperation') return VirtualMachineOperation.safeParse(object);
  if (object.kind === 'ClusterVirtualMachineOperation') return ClusterVirtualMachineOperation.safeParse(object);
  if (object.kind === 'VirtualMachineReplicaSet') return VirtualMachineReplicaSet.safeParse(object);
  return object.kind === 'VirtualMachineInstanceReplicaSet'
    ? VirtualMachineInstanceReplicaSet.safeParse(object)
    : undefined;
}

describe('examples/', () => {
  it.each(readdirSync(new URL('examples/', ROOT)).filter((file) => file.endsWith('.yaml')))(
    '%s is accepted without a warning',
    (file) => {
      const example = readFileSync(new URL(`examples/${file}`, ROOT), 'utf8');
      const set = setIn(example);
      if (set !== undefined) return expect(set.error).toBeUndefined();
      return expect(parseManifests(example, file).flatMap(({ notes }) => notes)).toEqual([]);
    },
  );
});

it('docs/budgets.md shows what the budgets of examples/ say', () => {
  const page = readFileSync(new URL('docs/budgets.md', ROOT), 'utf8');
  const blocks = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].slice(0, 3);
  const shown = blocks.map(([, yaml]) => (parse(yaml!) as { spec: object }).spec);
  const examples = ['quorum', 'office-hours', 'application'].map((name) => exampleIn(`budget-${name}.yaml`));
  expect(shown).toEqual((examples as { spec: object }[]).map(({ spec }) => spec));
});

const exampleIn = (file: string): unknown => parse(readFileSync(new URL(`examples/${file}`, ROOT), 'utf8'));

it('the autoscaler of examples/ scales the pool of examples/, which leaves the number to it', () => {
  const pool = exampleIn('pool-with-autoscaler.yaml') as {
    apiVersion: string;
    kind: string;
    metadata: { name: string };
    spec: object;
  };
  const { apiVersion, kind, metadata, spec } = pool;
  expect(exampleIn('autoscaler/hpa.yaml')).toMatchObject({
    apiVersion: 'autoscaling/v2',
    spec: { scaleTargetRef: { apiVersion, kind, name: metadata.name } },
  });
  expect(spec).not.toHaveProperty('replicas');
});

describe('documentation', () => {
  const documents = [
    'README.md',
    'CONTRIBUTING.md',
    ...readdirSync(new URL('docs/', ROOT))
      .filter((file) => file.endsWith('.md'))
      .map((file) => `docs/${file}`),
  ];
  const exists = (path: string): boolean => ['', 'test/'].some((folder) => existsSync(new URL(folder + path, ROOT)));

  it.each(documents.filter((file) => existsSync(new URL(file, ROOT))))('%s names existing files', (file) => {
    const named = [...readFileSync(new URL(file, ROOT), 'utf8').matchAll(/`([\w.-]+\/[\w./-]+\.ts)`/g)].map(
      ([, path]) => path!,
    );
    expect(named.filter((path) => !exists(path))).toEqual([]);
  });
});

test('docs/reference is as generated', () => {
  const kept = readdirSync(REFERENCE_FOLDER).map(
    (name) => [name, readFileSync(new URL(name, REFERENCE_FOLDER), 'utf8')] as const,
  );
  expect(new Map(kept)).toEqual(referenceFiles());
});

test('docs/reference has each field of each kind, with its type, its bounds and its default', () => {
  const pages = referenceFiles();
  const ownFieldsOf = (schema: StructuralSchema): string[] =>
    Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
      `.${name}\``,
      ...ownFieldsOf(field.items ?? field.additionalProperties ?? field),
    ]);
  for (const { spec } of droverCrds()) {
    const page = pages.get(`${spec.names.singular}.md`)!;
    const { properties } = spec.versions[0]!.schema.openAPIV3Schema;
    for (const part of ['spec', 'status'])
      expect(ownFieldsOf(properties![part]!).filter((field) => !page.includes(field))).toEqual([]);
  }
  expect(pages.get('virtualmachinepool.md')).toContain(
    '| `spec.rollout.progressDeadlineSeconds` | integer, at least 1 | 600 | How long each VM may take',
  );
  expect(pages.get('virtualmachinepool.md')).toContain(
    '| `spec.updateStrategy.proactive.drift` | `Report`, `Correct` | Report | What happens to fields',
  );
});

describe('docs/replica-sets.md', () => {
  const words = readFileSync(new URL('docs/replica-sets.md', ROOT), 'utf8');
  const { spec, status } = VirtualMachineReplicaSet.shape;

  it('names every field', () => {
    const fields = [
      ...Object.keys(structuralSchema(spec).properties ?? {}),
      ...Object.keys(structuralSchema(status).properties ?? {}),
    ];
    expect(fields).toContain('availableReplicas');
    expect(fields.filter((name) => name !== 'conditions' && !words.includes(`\`${name}\``))).toEqual([]);
  });

  it('shows sets that drover accepts', () => {
    const shown = [...words.matchAll(/^```yaml\n(.*?)^```$/gms)].flatMap(([, yaml]) => setIn(yaml!) ?? []);
    expect(shown).toHaveLength(2);
    for (const set of shown) expect(set.error).toBeUndefined();
  });
});

describe('docs/operations.md', () => {
  const words = readFileSync(new URL('docs/operations.md', ROOT), 'utf8');

  it('names every field', () => {
    const { spec, status } = ClusterVirtualMachineOperation.shape;
    const named = new Set([...words.matchAll(/`([^`\n]+)`/g)].flatMap(([, code]) => code!.split(/[^A-Za-z]+/)));
    const fields = [spec, status].flatMap((schema) => fieldsOf(structuralSchema(schema)));
    expect(fields).toContain('ttlSecondsAfterFinished');
    expect(fields.filter((name) => !named.has(name))).toEqual([]);
  });

  it('shows operations that drover accepts', () => {
    const shown = [...words.matchAll(/^```yaml\n(.*?)^```$/gms)].flatMap(([, yaml]) => setIn(yaml!) ?? []);
    expect(shown).toHaveLength(2);
    for (const operation of shown) expect(operation.error).toBeUndefined();
  });
});
