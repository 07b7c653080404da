import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CORRECT_DRIFT_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { parseQuantity } from '../../../api/lib/quantity.ts';
import type { VmTemplate } from '../../../api/pool/pool.ts';
import { correctDrift } from '../../../decisions/drift/correct-drift.ts';
import { driftOf, type DriftedField } from '../../../decisions/drift/drift.ts';
import { isObject, type Json } from '../../../decisions/lib/json.ts';
import { mergeVm } from '../../../decisions/merge/vm.ts';
import { vmFromTemplate, type NewVirtualMachine } from '../../../decisions/template/vm-from-template.ts';
import { aPool } from '../fixtures/fleets.ts';
import { anyTemplate } from '../fixtures/templates.ts';

const RUNS = { numRuns: 500 };
const made = (template: VmTemplate): NewVirtualMachine => vmFromTemplate(aPool({ autohealing: {} }), template, 1);
const anyMade = anyTemplate([{ metadata: { name: 'a' }, spec: { pvc: {} } }]).map(made);

type Path = (string | number)[];

/** The VM as KubeVirt's webhook writes it: zero values are gone, quantities spelled anew, and defaults filled in. */
function stored(vm: NewVirtualMachine): NewVirtualMachine {
  const copy = rewritten(vm) as NewVirtualMachine;
  const { template } = copy.spec as { template: { metadata: Json; spec: { domain: Json; architecture?: string } } };
  template.metadata['creationTimestamp'] = null;
  template.spec.architecture = 'amd64';
  Object.assign(template.spec.domain, { machine: { type: 'q35' }, firmware: { uuid: 'u', serial: 's' } });
  copy.metadata.annotations = { ...copy.metadata.annotations, 'kubevirt.io/latest-observed-api-version': 'v1' };
  return copy;
}

function rewritten(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => rewritten(item));
  if (key === 'guest' || key === 'maxGuest') return `${parseQuantity(value)! / 1024n ** 2n / 10n ** 9n}Mi`;
  if (!isObject(value)) return value;
  const fields = Object.entries(value).filter(([name, inner]) => !isZero(inner, name));
  return Object.fromEntries(fields.map(([name, inner]) => [name, rewritten(inner, name)]));
}

const isZero = (value: unknown, key: string): boolean =>
  (value === false && key !== 'running') ||
  value === 0 ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (['nodeSelector', 'labels', 'annotations'].includes(key) && Object.keys(value as object).length === 0);

const drift = (vm: NewVirtualMachine, from: NewVirtualMachine): DriftedField[] =>
  driftOf({ vm, transition: null }, from);

/** Fields whose changes are no drift, and fields of which nothing is known. */
const ELSEWHERE =
  /^(running|runStrategy|dataVolumeTemplates|unheardOf|beside|tcpSocket|instancetype)$|^drover\.dev|Claim$|^dataVolume$/;

/** The paths of all leaves that a user may change, and that KubeVirt has not dropped. */
function leaves(value: unknown, path: Path = []): Path[] {
  const inner = isObject(value) || Array.isArray(value) ? Object.entries(value as object) : [];
  if (inner.length === 0) return isZero(value, String(path.at(-1))) ? [] : [path];
  return inner.flatMap(([key, one]) =>
    ELSEWHERE.test(key) ? [] : leaves(one, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

function edited(vm: NewVirtualMachine, path: Path, removes: boolean): NewVirtualMachine {
  const copy = structuredClone(vm);
  const holder = path.slice(0, -1).reduce<unknown>((at, key) => (at as Json)[key], copy) as Json;
  const key = path.at(-1)!;
  if (Array.isArray(holder) && removes) holder.splice(Number(key), 1);
  else if (removes) delete holder[key];
  else Object.defineProperty(holder, key, { value: 'edited', enumerable: true, configurable: true, writable: true });
  return copy;
}

describe('any VM', () => {
  test("has no drift from KubeVirt's defaults or from additions by users", () => {
    fc.assert(
      fc.property(anyMade, (vm) => {
        const live = stored(vm);
        expect(drift(live, vm)).toEqual([]);
        const { template } = live.spec as { template: { spec: { volumes?: object[]; nodeSelector?: object } } };
        template.spec.volumes = [
          { name: 'hot', persistentVolumeClaim: { claimName: 'mine' } },
          ...(template.spec.volumes ?? []),
        ];
        template.spec.nodeSelector = { ...template.spec.nodeSelector, mine: 'yes' };
        live.metadata.labels['mine'] = 'yes';
        live.spec['runStrategy'] = 'Halted';
        delete live.spec['running'];
        expect(drift(live, vm)).toEqual([]);
      }),
      RUNS,
    );
  });

  test('reports each field that a user changes or removes, keeps it in an update, and is corrected', () => {
    fc.assert(
      fc.property(anyMade, anyMade, fc.nat(), fc.boolean(), (vm, next, at, removes) => {
        const live = stored(vm);
        const paths = leaves({
          spec: vm.spec,
          metadata: { labels: vm.metadata.labels, annotations: vm.metadata.annotations },
        });
        fc.pre(paths.length > 0);
        const changed = edited(live, paths[at % paths.length]!, removes);
        expect(drift(changed, vm)).toHaveLength(1);
        expect(mergeVm(changed, vm, vm)).toEqual(changed);
        const right = correctDrift(changed, vm, true)!;
        expect(drift(right, vm)).toEqual([]);
        expect(correctDrift(right, vm, true)).toBeNull();
        expect(drift(mergeVm(right, vm, next), next)).toEqual([]);
      }),
      RUNS,
    );
  });
});

const withDomain = (domain: Json, others: Json = {}): NewVirtualMachine =>
  made({ spec: { runStrategy: 'Always', template: { spec: { domain, ...others } } } });
const withDisk = (name: string): NewVirtualMachine =>
  made({
    spec: {
      runStrategy: 'Always',
      dataVolumeTemplates: [{ metadata: { name } }],
      template: { spec: { domain: {}, volumes: [{ name: 'root', dataVolume: { name } }] } },
    },
  });
const off = (field: string): Json => ({ devices: { [field]: false } });
const ordered = (vm: NewVirtualMachine): NewVirtualMachine => ({
  ...vm,
  metadata: { ...vm.metadata, annotations: { mine: 'yes', [CORRECT_DRIFT_ANNOTATION]: 'ada' } },
});
const paths = (live: NewVirtualMachine, from: NewVirtualMachine): string[] => drift(live, from).map(({ path }) => path);

describe('the path', () => {
  test('uses the names of items, and quotes a key that is not plain', () => {
    const from = withDomain(
      { devices: { disks: [{ name: 'root', bootOrder: 1 }, { name: 'data' }] } },
      { nodeSelector: { 'example.com/zone': 'a' } },
    );
    const live = withDomain(
      { devices: { disks: [{ name: 'root', bootOrder: 2 }] } },
      { nodeSelector: { 'example.com/zone': 'b' } },
    );
    expect(drift(live, from)).toEqual([
      { path: 'spec.template.spec.domain.devices.disks[root].bootOrder', wanted: 1, actual: 2 },
      { path: 'spec.template.spec.domain.devices.disks[data]', wanted: { name: 'data' }, actual: null },
      { path: 'spec.template.spec.nodeSelector["example.com/zone"]', wanted: 'a', actual: 'b' },
    ]);
  });
});

describe('drift does not include', () => {
  test.each<[what: string, live: Json, from: Json]>([
    ['another spelling of an amount', { memory: { guest: '1Gi' } }, { memory: { guest: '1024Mi' } }],
    ['a number that became a text', { resources: { requests: { cpu: '2' } } }, { resources: { requests: { cpu: 2 } } }],
    ['an absent zero', { cpu: { cores: 1 } }, { cpu: { cores: 1, dedicatedCpuPlacement: false } }],
  ])('%s', (_what, live, from) => expect(paths(withDomain(live), withDomain(from))).toEqual([]));

  test('a disk that a restore has put in the place of the one of the template', () => {
    expect(paths(withDisk('restored'), withDisk('disk'))).toEqual([]);
  });

  test('an instance type that KubeVirt has replaced by its content', () => {
    const from = made({
      spec: { runStrategy: 'Always', instancetype: { name: 'small' }, template: { spec: { domain: {} } } },
    });
    expect(paths(withDomain({}), from)).toEqual([]);
    const other = made({
      spec: { runStrategy: 'Always', instancetype: { name: 'large' }, template: { spec: { domain: {} } } },
    });
    expect(paths(other, from)).toEqual(['spec.instancetype.name']);
  });

  test('a machine type that a transition has set, unless a user has changed it since', () => {
    const [from, live] = [withDomain({ machine: { type: 'old' } }), withDomain({ machine: { type: 'new' } })];
    const transition = { id: 'one', from: 'old', to: 'new', vmiType: null, at: '2026-01-01T00:00:00Z' };
    const path = 'spec.template.spec.domain.machine.type';
    expect(driftOf({ vm: live, transition }, from)).toEqual([]);
    expect(driftOf({ vm: live, transition: null }, from)).toEqual([{ path, wanted: 'old', actual: 'new' }]);
    expect(driftOf({ vm: live, transition: { ...transition, to: 'newer' } }, from)).toHaveLength(1);
  });
});

test('a default that is on is drift if a user has removed the field that turned it off', () => {
  expect(paths(withDomain({ devices: {} }), withDomain(off('autoattachGraphicsDevice')))).toHaveLength(1);
  expect(paths(withDomain({ devices: {} }), withDomain(off('autoattachVSOCK')))).toEqual([]);
});

test('a request to correct drift applies to the drift of its moment, and goes with that', () => {
  const from = withDomain({ cpu: { cores: 1 } });
  const live = withDomain({ cpu: { cores: 2 } });
  expect(correctDrift(live, from, false)).toBeNull();
  for (const vm of [live, from]) {
    const right = correctDrift(ordered(vm), from, false)!;
    expect(right.spec).toEqual(from.spec);
    expect(right.metadata.annotations).toEqual({ mine: 'yes' });
  }
});

test('a VM that has run is never recorded as one that has not', () => {
  const from = withDomain({});
  expect(from.metadata.annotations).toEqual({ 'drover.dev/never-ran': '' });
  const { annotations: _annotations, ...metadata } = from.metadata;
  for (const base of [from, null]) expect(mergeVm({ ...from, metadata }, base, from).metadata).toEqual(metadata);
});
