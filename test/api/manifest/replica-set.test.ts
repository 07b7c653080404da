import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { ManifestErrors, parseManifests } from '../../../api/manifest/manifest.ts';
import { VirtualMachineInstanceReplicaSet, VirtualMachineReplicaSet } from '../../../api/replica-set/replica-set.ts';
import { bareSet } from '../replica-set/replica-sets.ts';

const read = (set: object) => parseManifests(stringify(set), 'set.yaml')[0]!;
const messagesOf = (set: object): string[] => {
  try {
    read(set);
  } catch (error) {
    if (error instanceof ManifestErrors) return error.problems.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
  return [];
};
const withSpec = (fields: object): object => ({ ...bareSet(), spec: { ...bareSet().spec, ...fields } });
const READ_AS = "is read as drover.dev/v1alpha1: the set is drover's";

const texts = (...objects: object[]): string => objects.map((object) => stringify(object)).join('---\n');

/** The proposal's own set, whose VirtualMachine had the spec of today's instance. */
const proposed = {
  apiVersion: 'kubevirt.io/v1alpha1',
  kind: 'VirtualMachineReplicaSet',
  metadata: { name: 'myreplicaset' },
  spec: {
    replicas: 3,
    selector: { matchLabels: { mylabel: 'mylabel' } },
    template: { metadata: { name: 'test', labels: { mylabel: 'mylabel' } }, spec: { domain: { devices: {} } } },
  },
  status: { conditions: null, replicas: 3 },
};

test("a set of drover's own is accepted without a warning", () => {
  expect(read(bareSet())).toMatchObject({ object: bareSet(), notes: [] });
});

describe("KubeVirt's group", () => {
  test("the proposal's set becomes a set of VMs, and each change is reported", () => {
    const { object, notes } = read(proposed);
    expect(VirtualMachineReplicaSet.parse(object)).toEqual({
      apiVersion: 'drover.dev/v1alpha1',
      kind: 'VirtualMachineReplicaSet',
      metadata: { name: 'myreplicaset' },
      spec: {
        replicas: 3,
        selector: { matchLabels: { mylabel: 'mylabel' } },
        template: {
          metadata: { labels: { mylabel: 'mylabel' } },
          spec: { runStrategy: 'Always', template: { spec: { domain: { devices: {} } } } },
        },
      },
    });
    expect(notes).toEqual([
      `kubevirt.io/v1alpha1 ${READ_AS}`,
      'status is left out: drover writes it',
      'spec.template.metadata: name and namespace are left out: the set names its VMs',
      'spec.template.spec: it holds the spec of an instance: ' +
        'it is read as spec.template.spec.template.spec, and runStrategy: Always is written out',
    ]);
  });

  test.each(['v1alpha2', 'v1alpha3', 'v1'])("KubeVirt's set of instances of %s becomes one of drover's", (version) => {
    const { object, notes } = read({
      ...proposed,
      apiVersion: `kubevirt.io/${version}`,
      kind: 'VirtualMachineInstanceReplicaSet',
    });
    const { template, ...spec } = proposed.spec;
    expect(VirtualMachineInstanceReplicaSet.parse(object)).toEqual({
      apiVersion: 'drover.dev/v1alpha1',
      kind: 'VirtualMachineInstanceReplicaSet',
      metadata: proposed.metadata,
      spec: { ...spec, template: { ...template, metadata: { labels: { mylabel: 'mylabel' } } } },
    });
    expect(notes).toEqual([
      expect.stringMatching(`^kubevirt.io/${version} is read as drover.dev/v1alpha1: a drover set, in addition to any`),
      'status is left out: drover writes it',
      'spec.template.metadata: name and namespace are left out: the set names its VMIs',
    ]);
  });

  test.each(['v1alpha1', 'v1alpha2', 'v1alpha3', 'v1'])(
    '%s is accepted with a template of a VM, which stays as it is',
    (version) => {
      const { object, notes } = read({ ...bareSet(), apiVersion: `kubevirt.io/${version}` });
      expect({ object, notes }).toEqual({ object: bareSet(), notes: [`kubevirt.io/${version} ${READ_AS}`] });
    },
  );

  test("KubeVirt's default of replicas is written out", () => {
    const { replicas: _replicas, ...spec } = bareSet().spec;
    const { object, notes } = read({ ...bareSet(), apiVersion: 'kubevirt.io/v1', spec });
    expect(object.spec).toHaveProperty('replicas', 1);
    expect(notes).toContain("spec.replicas: 1, KubeVirt's default, is written out");
  });

  test("a fault is reported as in a set of drover's group", () => {
    const wrong = { ...proposed, spec: { ...proposed.spec, selector: { matchLabels: { other: 'label' } } } };
    expect(messagesOf(wrong)).toEqual([
      'spec.selector: must match the labels of template.metadata: the set would not know its VMs again',
    ]);
    expect(messagesOf({ ...proposed, spec: null })).toEqual([
      'spec: is empty: it must be an object (lines of "key: value")',
    ]);
  });

  test('another version is refused with a sentence that names the right one', () =>
    expect(messagesOf({ ...proposed, apiVersion: 'kubevirt.io/v1beta7' })).toEqual([
      'apiVersion: VirtualMachineReplicaSet is not known in kubevirt.io/v1beta7; did you mean kubevirt.io/v1?',
    ]));
});

test.each<[string, object, string]>([
  [
    'a name in the template',
    withSpec({ template: { ...bareSet().spec.template, metadata: { name: 'test', labels: { app: 'web' } } } }),
    'spec.template.metadata.name: the set names its VMs <set>-<five letters and digits>: remove this',
  ],
  [
    'a field of pools',
    withSpec({ maxUnavailable: 1 }),
    'spec.maxUnavailable: unknown field: a set neither updates nor heals its members; a VirtualMachinePool has this',
  ],
  [
    'a misspelt field',
    withSpec({ minReadySecond: 1 }),
    'spec.minReadySecond: unknown field; did you mean minReadySeconds?',
  ],
  [
    "KubeVirt's word for a pool's template",
    withSpec({ virtualMachineTemplate: {} }),
    'spec.virtualMachineTemplate: unknown field; a set calls it template',
  ],
])('%s is refused with what would be right', (_, set, message) => expect(messagesOf(set)).toEqual([message]));

test('a disk that all VMs of a set would share is reported', () => {
  const { template } = bareSet().spec;
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'shared' } }];
  const shared = { ...template, spec: { ...template.spec, template: { spec: { domain: {}, volumes } } } };
  expect(read(withSpec({ template: shared })).notes).toEqual([
    'spec.template.spec.template.spec.volumes[0]: all VMs of the set share the disk shared: a dataVolumeTemplate gives each its own',
  ]);
});

test('a pool and a set may have one name; two sets may not', () => {
  const pool = { ...bareSet(), kind: 'VirtualMachinePool', spec: { replicas: 1, template: bareSet().spec.template } };
  expect(parseManifests(texts(pool, bareSet()), 'set.yaml')).toHaveLength(2);
  expect(() => parseManifests(texts(bareSet(), bareSet()), 'set.yaml')).toThrow(
    'the VirtualMachineReplicaSet web appears twice: first at set.yaml:1',
  );
});
