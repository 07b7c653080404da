import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { claimOf } from '../../api/claims/claim.ts';
import * as names from '../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../api/objects.ts';
import * as resources from '../../api/resources.ts';
import type { Resource } from '../../api/resources.ts';
import { ADMISSION_POLICIES } from '../../clients/setup/policies.ts';
import { field } from '../../decisions/lib/json.ts';
import { releasePatches, type KubeVirtPool } from '../../decisions/membership/kubevirt-pool.ts';
import { leavePatches, type MovePatches } from '../../decisions/membership/moves.ts';
import { jobOf } from '../../decisions/rollout/checks/job-check.ts';
import { ownerReference } from '../../decisions/template/vm-from-template.ts';
import { TABLE } from '../activities/forged/table.ts';
import { type ActivityName, World } from '../activities/forged/world.ts';
import { aPool } from '../decisions/fixtures/fleets.ts';
import { readManifests, rulesOf } from '../deploy/rights.ts';
import { aCheck } from '../model/pools.ts';
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
  const removal = pageOf('outages.md');
  const policies = new Set(ADMISSION_POLICIES.map(({ object }) => object.metadata.name));
  expect([...policies].filter((name) => !removal.includes(name))).toEqual([]);
});

interface Row {
  kind: 'label' | 'annotation' | 'finalizer';
  name: string;
  on: string[];
  uninstalled: string;
  detached: string;
  released: string;
}

const rows = [
  ...page.matchAll(
    /^\| (label|annotation|finalizer) `(drover\.dev\/\S+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm,
  ),
].map(([, kind, name, on, detached, released, uninstalled]): Row => ({
  kind: kind as Row['kind'],
  name: name!,
  on: on!.split(', '),
  detached: detached!,
  released: released!,
  uninstalled: uninstalled!,
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
    expect(rows.filter((row) => !row.uninstalled.startsWith('stays'))).toEqual([]);
  });
});

function isThere({ kind, name }: Row, { metadata }: KubeObject): boolean {
  if (kind === 'finalizer') return metadata.finalizers?.includes(name) === true;
  return (kind === 'label' ? metadata.labels : metadata.annotations)?.[name] !== undefined;
}

/** The table of other objects: what each row is about, and what becomes of it without drover. */
const others = [...page.matchAll(/^\| ([^|]+) \| [^|]+ \| [^|]+ \| ([^|]+) \|$/gm)].map(([, what, uninstalled]) => ({
  what: what!,
  uninstalled: uninstalled!,
}));

const namesKind = (kind: string, { what }: { what: string }): boolean => new RegExp(`\\b${kind}\\b`).test(what);

/** Nobody keeps what is asked there. */
const REVIEWS = 'authorization.k8s.io';
const ROLES = ['rbac/worker', 'rbac/setup', 'components/check-jobs/role', 'components/takeover/role'];

test('each kind of object that drover may create has a row in docs/left-behind.md', () => {
  const rules = ROLES.flatMap((file) => readManifests(`${file}.yaml`))
    .filter(({ kind }) => kind === 'ClusterRole')
    .flatMap(rulesOf)
    .filter(({ apiGroups: [group], verbs }) => verbs.includes('create') && group !== REVIEWS);
  const kinds = rules.flatMap(({ apiGroups, resources: plurals }) =>
    plurals.map((plural) => Object.values(resources).find((one) => isResource(one, apiGroups, plural))?.kind ?? plural),
  );
  expect(kinds.length).toBeGreaterThan(9);
  expect(kinds.filter((kind) => !others.some((row) => namesKind(kind, row)))).toEqual([]);
});

const isResource = (one: unknown, groups: string[], plural: string): one is Resource =>
  field(one, 'plural') === plural && groups.includes(field(one, 'group') as string);

type Made = (world: World) => Promise<readonly Stored[]>;

/** What an activity makes of this kind, if a caller asks for what there is to do. */
const madeBy =
  (activity: ActivityName, resource: Resource, what?: string): Made =>
  async (world) => {
    const row = TABLE[activity];
    const honest = 'honest' in row ? row.honest : {};
    const args = (what === undefined ? Object.values(honest)[0]! : honest[what]!)(world);
    await world.start();
    await world.written(activity, args());
    return world.server.all(resource);
  };

const stored = (object: object): Promise<Stored[]> => Promise.resolve([object as Stored]);

/** What drover creates, by its kind. */
const MADE: [kind: string, Made][] = [
  ['ControllerRevision', madeBy('createRevision', resources.ControllerRevisions)],
  ['VirtualMachineOperation', madeBy('lookAtSchedule', resources.VirtualMachineOperations)],
  [
    'VirtualMachineInstanceMigration',
    madeBy('changePower', resources.VirtualMachineInstanceMigrations, 'a VM that its operation migrates'),
  ],
  ['Job', () => stored(jobOf(pool, aCheck(), { spec: { template: {} } }, 'web-check'))],
  ['Lease', () => stored(claimOf('shop', 'east'))],
  ['VirtualMachine', (world) => stored(world.vm(world.pool('web'), 1))],
];

/** Owners that are there until a worker takes their finalizer off. */
const HELD = new Set(['VirtualMachinePool', 'VirtualMachineReplicaSet', 'VirtualMachineInstanceReplicaSet']);
const GOES_WITH: Readonly<Record<string, string>> = {
  VirtualMachineInstance: 'goes with the VMI',
  VirtualMachineOperationSchedule: 'goes with the schedule',
};

test.each(MADE)(
  'what drover makes of the kind %s goes or stays as the table says, without drover',
  async (kind, make) => {
    const [made] = await make(new World());
    const [owner] = made!.metadata.ownerReferences ?? [];
    const row = others.find((one) => namesKind(kind, one))!;
    const goes = owner === undefined || HELD.has(owner.kind) ? 'stays' : GOES_WITH[owner.kind];
    expect(row.uninstalled.split(/[,:]/)[0]).toBe(goes);
  },
);

test('what only a worker ends hangs without drover, and the table says so', () => {
  const finalizers = page.split('\n').filter((line) => /^\| finalizers? `drover/.test(line));
  expect(finalizers).toHaveLength(2);
  for (const line of finalizers) expect(line).toContain('stays `Terminating` |');
});

test('a VM that is deleted by a scale-in leaves its disks, with the marks that the table has', async () => {
  const world = new World();
  const claim = world.keptDisk(world.pool('web', { replicas: 0 }), 1);
  const row = others.find((one) => namesKind('disk', one))!;
  for (const marks of [claim.metadata.labels, claim.metadata.annotations])
    for (const name of Object.keys(marks ?? {})) expect(row.what).toContain(`\`${name}\``);
  expect(claim.metadata.ownerReferences).toBeUndefined();
});
