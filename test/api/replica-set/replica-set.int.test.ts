import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { droverCrds } from '../../../api/crd/crds.ts';
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

test.each(entriesOf(TAKEN, TAKEN_INSTANCES))('the API server takes %s', async (_, set) => {
  expect(await refusalOf(create(set))).toBe('accepted');
});

test.each(entriesOf(REFUSED, REFUSED_INSTANCES))(
  'the API server refuses %s, in the same sentence',
  async (_, [set, sentence]) => {
    expect(await refusalOf(create(set))).toContain(sentence);
  },
);

test('the API server refuses another selector, and takes all else that changes', async () => {
  await server().client.create(VirtualMachineReplicaSets, bareSet());
  const change = (spec: object) =>
    server().client.patch(
      VirtualMachineReplicaSets,
      { namespace: 'default', name: 'web' },
      'merge',
      { spec },
      { dryRun: true },
    );
  expect(await refusalOf(change({ selector: { matchLabels: { tier: 'front' } } }))).toContain(
    'must stay as it is: make another set for another selector',
  );
  expect(await refusalOf(change({ replicas: 5, paused: true }))).toBe('accepted');
});

test('the API server takes the examples', async () => {
  const folder = new URL('../../../examples/', import.meta.url);
  const files = readdirSync(folder).filter((file) => file.includes('replica-set'));
  expect(files).toHaveLength(2);
  for (const file of files) {
    const set = parse(readFileSync(new URL(file, folder), 'utf8')) as KubeObject;
    expect(await refusalOf(create({ ...set, metadata: { ...set.metadata, namespace: 'default' } }))).toBe('accepted');
  }
});

test.each([
  ['vmrs', bareSet()],
  ['dvmirs', bareInstanceSet()],
])('the API server shows how many members a set wants and has, and knows it as %s', (short, set) => {
  const { spec } = droverCrds().find(({ spec: { names } }) => names.kind === set.kind)!;
  expect(spec.names.shortNames).toEqual([short]);
  expect(spec.versions[0]!.additionalPrinterColumns.map(({ name }) => name)).toEqual([
    'Desired',
    'Current',
    'Ready',
    'Available',
    'Age',
  ]);
});
