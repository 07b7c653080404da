import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { KubeObject } from '../../../api/objects.ts';
import { VirtualMachineInstanceReplicaSets, VirtualMachineReplicaSets } from '../../../api/resources.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { anApiServer } from '../api-server.ts';
import { bareInstanceSet, bareSet, REFUSED, REFUSED_INSTANCES, TAKEN, TAKEN_INSTANCES } from './replica-sets.ts';

const server = anApiServer();

const refusalOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'accepted',
    (error: unknown) => {
      if (error instanceof KubeError) return error.message;
      throw error;
    },
  );
const kindOf = (set: object) =>
  (set as KubeObject).kind === VirtualMachineReplicaSets.kind
    ? VirtualMachineReplicaSets
    : VirtualMachineInstanceReplicaSets;
const create = (set: object) => server().client.create(kindOf(set), set as KubeObject, { dryRun: true });
const entriesOf = <T>(ofVms: Record<string, T>, ofInstances: Record<string, T>): [string, T][] => [
  ...Object.entries(ofVms),
  ...Object.entries(ofInstances).map(([what, set]): [string, T] => [`${what}, of instances`, set]),
];

test.each(entriesOf(TAKEN, TAKEN_INSTANCES))('the API server accepts %s', async (_, set) => {
  expect(await refusalOf(create(set))).toBe('accepted');
});

test.each(entriesOf(REFUSED, REFUSED_INSTANCES))(
  'the API server refuses %s, in the same sentence',
  async (_, [set, sentence]) => {
    expect(await refusalOf(create(set))).toContain(sentence);
  },
);

test.each([
  ['VMs', bareSet()],
  ['instances', bareInstanceSet()],
])('the API server refuses another selector of %s, and takes all else that changes', async (_, set) => {
  await server().client.create<KubeObject>(kindOf(set), set);
  const change = (spec: object) =>
    server().client.patch(kindOf(set), { namespace: 'default', name: 'web' }, 'merge', { spec }, { dryRun: true });
  expect(await refusalOf(change({ selector: { matchLabels: { tier: 'front' } } }))).toContain(
    'is immutable: create another set for another selector',
  );
  expect(await refusalOf(change({ replicas: 5, paused: true }))).toBe('accepted');
});

test('the API server accepts the examples', async () => {
  const folder = new URL('../../../examples/', import.meta.url);
  const files = readdirSync(folder).filter((file) => file.includes('replica-set'));
  expect(files).toHaveLength(2);
  for (const file of files) {
    const set = parse(readFileSync(new URL(file, folder), 'utf8')) as KubeObject;
    expect(await refusalOf(create({ ...set, metadata: { ...set.metadata, namespace: 'default' } }))).toBe('accepted');
  }
});

/** As kubectl asks for what it prints. */
const AS_TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
interface Table {
  columnDefinitions: { name: string }[];
  rows: { cells: unknown[] }[];
}

test.each([
  ['vmrs', bareSet({ replicas: 5 })],
  ['dvmirs', bareInstanceSet({ replicas: 5 })],
])('the API server shows how many members a set wants and has, and knows it as %s', async (short, set) => {
  const { client } = server();
  const resource = kindOf(set);
  const name = { namespace: 'default', name: `shown-${short}` };
  await client.create(resource, { ...set, metadata: name });
  const status = { replicas: 4, readyReplicas: 3, availableReplicas: 2 };
  await client.patch(resource, name, 'merge', { status }, { subresource: 'status' });
  const { group, version, plural } = resource;
  const api = `/apis/${group}/${version}`;
  const { columnDefinitions, rows } = await client.request<Table>({
    method: 'GET',
    path: `${api}/namespaces/default/${plural}/${name.name}`,
    accept: AS_TABLE,
  });
  expect(columnDefinitions.map((column) => column.name)).toEqual([
    'Name',
    'Desired',
    'Current',
    'Ready',
    'Available',
    'Age',
  ]);
  expect(rows.map(({ cells }) => cells)).toEqual([[name.name, 5, 4, 3, 2, expect.any(String)]]);
  const { resources } = await client.request<{ resources: object[] }>({ method: 'GET', path: api });
  expect(resources).toContainEqual(expect.objectContaining({ name: plural, shortNames: [short] }));
});
