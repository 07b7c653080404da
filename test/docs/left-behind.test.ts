import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import * as names from '../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../api/objects.ts';
import { ControllerRevisions, PodDisruptionBudgets, type Resource } from '../../api/resources.ts';
import { ADMISSION_POLICIES } from '../../clients/setup/policies.ts';
import { releasePatches, type KubeVirtPool } from '../../decisions/membership/kubevirt-pool.ts';
import { leavePatches, type MovePatches } from '../../decisions/membership/moves.ts';
import { ownerReference } from '../../decisions/template/vm-from-template.ts';
import { TABLE } from '../activities/forged/table.ts';
import { World } from '../activities/forged/world.ts';
import { aPool } from '../decisions/fixtures/fleets.ts';
import { mergePatch } from '../model/world/api-server.ts';

const pageOf = (page: string): string => readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
const page = pageOf('left-behind.md');

/** Constants that are no names of what drover writes. */
const OTHERS = new Set(['GROUP', 'API_VERSION', 'EVENT_REPORTER']);

test('each name that drover writes has a row in docs/left-behind.md', () => {
  const written = Object.entries(names).filter(
    ([constant, value]) => value.startsWith('drover.dev/') && !OTHERS.has(constant),
  );
  expect(written.length).toBeGreaterThan(35);
  expect(written.filter(([, value]) => !page.includes(`\`${value}\``)).map(([constant]) => constant)).toEqual([]);
});

test('the removal of drover names each admission policy', () => {
  const removal = pageOf('deploy.md');
  const policies = new Set(ADMISSION_POLICIES.map(({ object }) => object.metadata.name));
  expect([...policies].filter((name) => !removal.includes(name))).toEqual([]);
});

interface Row {
  kind: 'label' | 'annotation' | 'finalizer';
  name: string;
  on: string[];
  detached: string;
  released: string;
}

const rows = [
  ...page.matchAll(/^\| (label|annotation|finalizer) `(drover\.dev\/\S+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm),
].map(([, kind, name, on, detached, released]): Row => ({
  kind: kind as Row['kind'],
  name: name!,
  on: on!.split(', '),
  detached: detached!,
  released: released!,
}));

const pool = aPool();

/** A VM, or its VMI, of the pool with all that the table has on it. */
function marked(on: 'VM' | 'VMI'): Stored {
  const of = (kind: Row['kind']): string[] =>
    rows.filter((row) => row.kind === kind && row.on.includes(on)).map(({ name }) => name);
  const values = (kind: Row['kind']): Record<string, string> => Object.fromEntries(of(kind).map((name) => [name, 'x']));
  return {
    metadata: {
      namespace: 'shop',
      name: 'web-1',
      uid: on,
      resourceVersion: '1',
      creationTimestamp: '2026-01-02T03:04:05Z',
      labels: values('label'),
      annotations: values('annotation'),
      finalizers: of('finalizer'),
      ownerReferences: on === 'VM' ? [ownerReference('VirtualMachinePool', pool.metadata)] : [],
    },
    spec: structuredClone(pool.spec.template.spec),
  };
}

const kubeVirtPool: Stored<KubeVirtPool> = {
  metadata: {
    namespace: 'shop',
    name: 'web',
    uid: 'kv',
    resourceVersion: '1',
    creationTimestamp: '2026-01-02T03:04:05Z',
  },
  spec: { selector: { matchLabels: { app: 'web' } } },
};

const read = { vm: marked('VM'), vmi: marked('VMI') };
const WAYS: Record<'detached' | 'released', () => MovePatches> = {
  detached: () => leavePatches(pool, read),
  released: () => releasePatches(pool, kubeVirtPool, { newest: null, revision: 'web-1' }, read),
};

describe.each(['detached', 'released'] as const)('a VM that is %s', (way) => {
  const patches = WAYS[way]();
  const after = {
    VM: mergePatch(read.vm, patches.vm) as KubeObject,
    VMI: mergePatch(read.vmi, { metadata: patches.vmi }) as KubeObject,
  };

  test('keeps and loses what docs/left-behind.md says', () => {
    expect(rows.length).toBeGreaterThan(18);
    const wrong = rows.filter((row) => {
      const on = row.on.filter((one) => row[way] !== 'goes from the VM' || one === 'VM') as ('VM' | 'VMI')[];
      return on.some((one) => isThere(row, after[one]) !== row[way].startsWith('stays'));
    });
    expect(wrong.map(({ name }) => name)).toEqual([]);
  });
});

function isThere({ kind, name }: Row, { metadata }: KubeObject): boolean {
  if (kind === 'finalizer') return metadata.finalizers?.includes(name) === true;
  return (kind === 'label' ? metadata.labels : metadata.annotations)?.[name] !== undefined;
}

/** What workers make for a pool, by the activities that make it; and the words of its row. */
const MADE: ['createRevision' | 'updatePodDisruptionBudget', Resource, string][] = [
  ['createRevision', ControllerRevisions, 'ControllerRevisions'],
  ['updatePodDisruptionBudget', PodDisruptionBudgets, 'PodDisruptionBudget'],
];

test.each(MADE)('what %s makes belongs to the pool, and has a row', async (activity, resource, words) => {
  const row = TABLE[activity];
  const [make] = 'honest' in row ? Object.values(row.honest) : [];
  const world = new World();
  const args = make!(world);
  await world.start();
  await world.written(activity, args());
  const owners = world.server.all(resource).map(({ metadata }) => metadata.ownerReferences?.map(({ kind }) => kind));
  expect(owners).toContainEqual(['VirtualMachinePool']);
  expect(page).toContain(`| ${words}`);
});

test('a VM that is deleted by a scale-in leaves its disks, with the marks that the table has', async () => {
  const world = new World();
  const owner = world.pool('web', { replicas: 0 });
  const claim = world.keptDisk(owner, 1);
  const rowOfDisks = page.split('\n').find((line) => line.endsWith('lists them |'))!;
  for (const marks of [claim.metadata.labels, claim.metadata.annotations])
    for (const name of Object.keys(marks ?? {})) expect(rowOfDisks).toContain(`\`${name}\``);
  expect(claim.metadata.ownerReferences).toBeUndefined();
});
