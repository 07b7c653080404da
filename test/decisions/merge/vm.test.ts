import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { VmTemplate } from '../../../api/pool/pool.ts';
import { isObject, type Json } from '../../../decisions/lib/json.ts';
import { grownDisks, mergePatch, mergeVm, type WrittenVm } from '../../../decisions/merge/vm.ts';
import { vmFromTemplate, type NewVirtualMachine } from '../../../decisions/template/vm-from-template.ts';
import { aPool } from '../fixtures/fleets.ts';
import { anyPower, anyTemplate } from '../fixtures/templates.ts';

const RUNS = { numRuns: 200 };
const DISKS = [{ metadata: { name: 'a' }, spec: { pvc: {} } }];

const made = (template: VmTemplate): NewVirtualMachine => vmFromTemplate(aPool(), template, 1);
const anyMade = anyTemplate(DISKS).map(made);

type Vm = WrittenVm & { spec: Json };
type VmiSpec = Json & {
  domain: Json & { devices: { disks?: object[] } };
  volumes?: object[];
  tolerations?: object[];
  nodeSelector?: Json;
};
const vmiOf = (vm: WrittenVm): VmiSpec => (vm.spec as { template: { spec: VmiSpec } }).template.spec;

/** The VM as the API server has it: with a status, and with the defaults of KubeVirt's webhook. */
function stored(vm: NewVirtualMachine): Vm & { status: object } {
  const copy = structuredClone({ ...vm, status: { ready: true } });
  Object.assign(vmiOf(copy).domain, { machine: { type: 'q35' }, firmware: { uuid: 'u', serial: 's' } });
  return copy;
}

/** What a user may add to what the templates set. */
const additions = {
  labels: { 'people/team': 'blue' },
  toleration: { key: 'people', operator: 'Exists' },
  volume: { name: 'hot', persistentVolumeClaim: { claimName: 'mine', hotpluggable: true } },
  disk: { name: 'hot', disk: { bus: 'scsi' }, serial: 'hot' },
};
function withAdditions<T extends WrittenVm>(vm: T): T {
  const copy = structuredClone(vm);
  copy.metadata.labels = { ...copy.metadata.labels, ...additions.labels };
  copy.metadata.annotations = { ...copy.metadata.annotations, ...additions.labels };
  const vmi = vmiOf(copy);
  vmi.volumes = [...(vmi.volumes ?? []), additions.volume];
  vmi.domain.devices.disks = [additions.disk, ...(vmi.domain.devices.disks ?? [])];
  vmi.tolerations = [additions.toleration, ...(vmi.tolerations ?? [])];
  vmi.nodeSelector = { ...vmi.nodeSelector, ...additions.labels };
  return copy;
}

/** A VM unrelated to its templates, with or without a base. */
const anyThree = fc.tuple(anyMade.map(stored).map(withAdditions), fc.option(anyMade, { freq: 5 }), anyMade);

describe('a merge of any VM and any templates', () => {
  test('changes nothing the second time, with the old base or with the new one', () => {
    fc.assert(
      fc.property(anyThree, ([live, base, target]) => {
        const merged = mergeVm(live, base, target);
        expect(mergeVm(merged, base, target)).toEqual(merged);
        expect(mergeVm(merged, target, target)).toEqual(merged);
      }),
      RUNS,
    );
  });

  test("gives unchanged fields the values of the new template, and keeps KubeVirt's own", () => {
    fc.assert(
      fc.property(anyMade, anyMade, (base, target) => {
        expect(mergeVm(stored(base), base, target)).toEqual(stored(target));
      }),
      RUNS,
    );
  });

  test('ends where it began, there and back', () => {
    fc.assert(
      fc.property(anyMade, anyMade, (a, b) => {
        const live = stored(a);
        expect(mergeVm(mergeVm(live, a, b), b, a)).toEqual(live);
      }),
      RUNS,
    );
  });

  test('keeps what users added', () => {
    fc.assert(
      fc.property(anyThree, ([live, base, target]) => {
        const merged = mergeVm(live, base, target);
        const vmi = vmiOf(merged);
        expect(merged.metadata.labels).toMatchObject(additions.labels);
        expect(merged.metadata.annotations).toMatchObject(additions.labels);
        expect(vmi.nodeSelector).toMatchObject(additions.labels);
        expect(vmi.volumes).toContainEqual(additions.volume);
        expect(vmi.domain.devices.disks).toContainEqual(additions.disk);
        expect(vmi.tolerations).toContainEqual(additions.toleration);
        expect(vmi.domain).toMatchObject({ machine: { type: 'q35' }, firmware: { uuid: 'u', serial: 's' } });
        expect((merged as { status?: object }).status).toEqual({ ready: true });
      }),
      RUNS,
    );
  });

  test('leaves the power to one field, and changes it only if the VM was powered as its base says', () => {
    fc.assert(
      fc.property(anyThree, anyPower, ([live, base, target], power) => {
        const { running: _running, runStrategy: _runStrategy, ...rest } = live.spec;
        const merged = powerFields(mergeVm({ ...live, spec: { ...rest, ...power } }, base, target));
        expect(Object.keys(merged)).toHaveLength(1);
        const asLeft = base !== null && strategyOf(powerFields(base)) === strategyOf(power);
        expect(strategyOf(merged)).toBe(strategyOf(asLeft ? powerFields(target) : power));
      }),
      RUNS,
    );
  });

  test('changes nothing that was given to it', () => {
    fc.assert(
      fc.property(anyThree, (three) => {
        const before = structuredClone(three);
        mergePatch(three[0], mergeVm(...three));
        expect(three).toEqual(before);
      }),
      RUNS,
    );
  });

  test('makes a patch that turns one VM into the other, and none if nothing differs', () => {
    fc.assert(
      fc.property(anyThree, ([live, base, target]) => {
        const merged = mergeVm(live, base, target);
        const patch = mergePatch(live, merged);
        expect(patched(live, patch ?? {})).toEqual(merged);
        expect(mergePatch(merged, structuredClone(merged))).toBeNull();
        expect(patch?.metadata ?? {}).not.toHaveProperty('ownerReferences');
      }),
      RUNS,
    );
  });
});

const powerFields = (vm: WrittenVm): object =>
  Object.fromEntries(Object.entries(vm.spec ?? {}).filter(([key]) => key === 'running' || key === 'runStrategy'));
const strategyOf = (power: { running?: boolean; runStrategy?: string }): string =>
  power.runStrategy ?? (power.running === true ? 'Always' : 'Halted');

/** JSON merge patch (RFC 7386). */
function patched(value: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const before = Object.entries(isObject(value) ? value : {}).filter(([key]) => !Object.hasOwn(patch, key));
  const changed = Object.entries(patch).filter(([, field]) => field !== null);
  const old = new Map(isObject(value) ? Object.entries(value) : []);
  return Object.fromEntries([
    ...before,
    ...changed.map(([key, field]) => [key, patched(old.get(key), field)] as const),
  ]);
}

const withSpec = (spec: Json): NewVirtualMachine =>
  ({ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', metadata: { labels: {} }, spec }) as never;

const withVmi = (spec: object): NewVirtualMachine => withSpec({ template: { spec } });

/** The VMI spec that results from a merge. */
const merged = (live: object, base: object | null, target: object): Json =>
  vmiOf(mergeVm(withVmi(live), base === null ? null : withVmi(base), withVmi(target)));

describe('a field of a VM', () => {
  const cases: [title: string, live: object, base: object | null, target: object, result: object][] = [
    ["a person's value stays if the template stays", { a: 'person' }, { a: 1 }, { a: 1 }, { a: 'person' }],
    ['also what they removed', { b: 2 }, { a: 1 }, { a: 1 }, { b: 2 }],
    ["the template's value wins if it changes", { a: 'person' }, { a: 1 }, { a: 2 }, { a: 2 }],
    [
      'leaf by leaf',
      { a: { x: 'person', y: 'person' } },
      { a: { x: 1, y: 1 } },
      { a: { x: 2, y: 1 } },
      { a: { x: 2, y: 'person' } },
    ],
    ["without a base the template's value wins", { a: 'person' }, null, { a: 1 }, { a: 1 }],
    ['what the template gives up goes', { a: 1, b: 2 }, { a: 1 }, {}, { b: 2 }],
    ['it goes leaf by leaf', { a: { x: 1, mine: 2 } }, { a: { x: 1 } }, {}, { a: { mine: 2 } }],
    ['and takes the object with it that is left empty', { a: { b: { x: 1 } } }, { a: { b: { x: 1 } } }, {}, {}],
    ['unless the template sets that', { a: { x: 1 } }, { a: { x: 1 } }, { a: {} }, { a: {} }],
    ['without a base nothing goes', { a: { x: 1 }, b: 2 }, null, { a: { y: 1 } }, { a: { x: 1, y: 1 }, b: 2 }],
    ['null is as good as absent', { a: 1, b: null }, { a: 1, b: null }, { a: null }, { b: null }],
    ['an object in the place of a value', { a: 1 }, { a: 1 }, { a: { x: 1 } }, { a: { x: 1 } }],
    ['a value in the place of a list', { a: [1] }, { a: [1] }, { a: 1 }, { a: 1 }],
    ['a name that every object has', { a: {} }, { a: {} }, { a: { constructor: 'x' } }, { a: { constructor: 'x' } }],
  ];
  test.each(cases)('%s', (_title, live, base, target, result) => expect(merged(live, base, target)).toEqual(result));
});

describe('a list of named items', () => {
  const one = { name: 'one', x: 1 };
  const two = { name: 'two', x: 2 };
  const mine = { name: 'mine' };
  const cases: [
    title: string,
    live: object[],
    base: object[] | null,
    target: object[] | undefined,
    result: object[] | undefined,
  ][] = [
    ['nothing is changed if the template stays', [mine, two, one], [one, two], [one, two], [mine, two, one]],
    [
      'nor comes back what a person removed',
      [two],
      [one, two],
      [one, two, { name: 'three' }],
      [two, { name: 'three' }],
    ],
    ["the template's order, then a person's", [mine, two, one], [two, one], [one, two], [one, two, mine]],
    [
      'one that the template gives up goes, with all that a person put into it',
      [{ ...one, y: 1 }, mine],
      [one],
      [],
      [mine],
    ],
    ['also with the list', [one, mine], [one], undefined, [mine]],
    ['and nothing is left of a list without one', [one], [one], undefined, undefined],
    ['within one, fields merge', [{ ...one, y: 1 }], [one], [{ name: 'one', z: 3 }], [{ name: 'one', y: 1, z: 3 }]],
    ['without a base all stay', [one, mine], null, [{ name: 'one', x: 5 }], [{ name: 'one', x: 5 }, mine]],
  ];
  test.each(cases)('%s', (_title, live, base, target, result) => {
    expect(merged({ gpus: live }, base && { gpus: base }, target === undefined ? {} : { gpus: target })).toEqual(
      result === undefined ? {} : { gpus: result },
    );
  });
});

const holding = (list: unknown[] | undefined): object => (list === undefined ? {} : { list });

describe('a list of another kind', () => {
  const [one, two, mine] = [{ key: 'one' }, { key: 'two' }, { key: 'mine' }];
  type List = unknown[] | undefined;
  const cases: [title: string, live: List, base: List | null, target: List, result: List][] = [
    ['stay as they are if the template stays', [mine, one], [one], [one], [mine, one]],
    ["take the template's items, and keep a person's", [mine, one], [one], [two], [two, mine]],
    [
      "take the place of the template's as KubeVirt spells them",
      [mine, { key: 'one', operator: 'Exists' }],
      [{ key: 'one', operator: 'Exists', values: [], effect: null }],
      [two],
      [two, mine],
    ],
    ['without doubles', [two, one], [one], [two], [two]],
    ["keep a person's when the template gives the list up", [one, mine], [one], undefined, [mine]],
    ['go when nothing is left', [one], [one], undefined, undefined],
    ['keep all without a base', [one, mine], null, [two], [two, one, mine]],
    ['stay away if a person removed the list', undefined, [one], [one], undefined],
    ['come back if they change', undefined, [one], [one, two], [one, two]],
    [
      'of which two have one name keep both',
      [
        { name: 'a', x: 1 },
        { name: 'a', x: 2 },
      ],
      [],
      [],
      [
        { name: 'a', x: 1 },
        { name: 'a', x: 2 },
      ],
    ],
    ['a command is one value', ['cat', '/b'], ['cat', '/a'], ['cat', '/c'], ['cat', '/c']],
    ['also without a base', ['cat', '/b'], null, ['cat', '/c'], ['cat', '/c']],
    ["and a person's if the template stays", ['cat', '/b'], ['cat', '/a'], ['cat', '/a'], ['cat', '/b']],
  ];
  test.each(cases)('%s', (_title, live, base, target, result) => {
    expect(merged(holding(live), base === null ? null : holding(base), holding(target))).toEqual(holding(result));
  });
});

describe("a choice of KubeVirt's", () => {
  test.each<[string, object, object]>([
    ['disks', { name: 'x', disk: { bus: 'virtio', mine: 1 } }, { name: 'x', cdrom: { bus: 'sata' } }],
    ['interfaces', { name: 'x', bridge: {} }, { name: 'x', masquerade: {} }],
    ['networks', { name: 'x', pod: { mine: 1 } }, { name: 'x', multus: { networkName: 'blue' } }],
  ])('is made by the template: %s', (list, live, target) => {
    expect(merged({ [list]: [live] }, { [list]: [live] }, { [list]: [target] })).toEqual({ [list]: [target] });
    expect(merged({ [list]: [live] }, null, { [list]: [target] })).toEqual({ [list]: [target] });
  });

  test('stays as a user has chosen it if the template stays', () => {
    const [live, template] = [
      { name: 'x', masquerade: {} },
      { name: 'x', bridge: {}, model: 'virtio' },
    ];
    const next = { ...template, model: 'e1000' };
    expect(merged({ interfaces: [live] }, { interfaces: [template] }, { interfaces: [next] })).toEqual({
      interfaces: [{ ...live, model: 'e1000' }],
    });
  });

  test('leaves the fields beside it', () => {
    expect(merged({ clock: { utc: {}, timer: { hpet: {} } } }, null, { clock: { timezone: 'x' } })).toEqual({
      clock: { timezone: 'x', timer: { hpet: {} } },
    });
  });
});

const dataVolume = (name: string): object => ({ name: 'root', dataVolume: { name } });
const claim = (claimName: string): object => ({ name: 'root', persistentVolumeClaim: { claimName } });
const image = (image: string): object => ({ name: 'root', containerDisk: { image } });
const withTemplates = (names: string[], volumes: object[]): Json => ({
  dataVolumeTemplates: names.map((name) => ({ metadata: { name }, spec: {} })),
  template: { spec: { volumes } },
});
const sized = (name: string, storage: string): object => ({
  metadata: { name },
  spec: { storage: { resources: { requests: { storage } } } },
});
const templatesOf = (live: Json, base: Json | null, target: Json): unknown => {
  const { spec } = mergeVm(withSpec(live), base && withSpec(base), withSpec(target));
  return (spec['dataVolumeTemplates'] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
};

const withDisks = (dataVolumeTemplates: object[], name = 'a') =>
  withSpec({ dataVolumeTemplates, template: { spec: { volumes: [dataVolume(name)] } } });
const grown = (live: object[], target: object[], volume = 'a', base: object[] | null = live): unknown => {
  const vm = withDisks(live, volume);
  const after = mergeVm(vm, base && withDisks(base), withDisks(target));
  return [after.spec['dataVolumeTemplates'], grownDisks(vm, after)];
};
const disk = (url: string, labels: object): Json => ({
  dataVolumeTemplates: [{ metadata: { name: 'a', labels }, spec: { source: { http: { url } } } }],
  template: { spec: { volumes: [dataVolume('a')] } },
});

const referring = (key: string, matcher: object | null): NewVirtualMachine =>
  withSpec({ template: { spec: {} }, ...(matcher && { [key]: matcher }) });

describe('instance types and preferences', () => {
  const kind = 'VirtualMachineInstancetype';
  const pinned = { kind, name: 'small', revisionName: 'web-1-small-1' };
  const small = { kind, name: 'small' };
  const large = { kind, name: 'large' };
  const cases: [
    title: string,
    live: object | null,
    base: object | null,
    target: object | null,
    result: object | null,
  ][] = [
    ['another name drops the pin of the former', pinned, small, large, large],
    ['also if that is what a person chose', { ...pinned, name: 'mine' }, small, large, large],
    ['and if the former template is lost', pinned, null, large, large],
    ['another kind drops it, too', pinned, small, { name: 'small' }, { name: 'small' }],
    [
      'a template that pins brings its own',
      pinned,
      small,
      { ...large, revisionName: 'l' },
      { ...large, revisionName: 'l' },
    ],
    ['a pin that the template gives up goes', pinned, pinned, small, small],
    ['and so does one with what it was for', pinned, pinned, large, large],
    ['a pin stays while the template stays', pinned, small, small, pinned],
    ['and while it means the same', pinned, { ...small, kind: undefined }, small, pinned],
    ['a kind in other words is no other', { ...pinned, kind: 'virtualmachineinstancetypes' }, null, small, pinned],
    [
      'what KubeVirt has inferred goes with its volume',
      { kind: 'x', name: 'inferred' },
      { inferFromVolume: 'root' },
      large,
      large,
    ],
    ['and makes room for another volume', pinned, small, { inferFromVolume: 'root' }, { inferFromVolume: 'root' }],
    [
      'it stays while the volume stays',
      { name: 'inferred' },
      { inferFromVolume: 'root' },
      { inferFromVolume: 'root' },
      { name: 'inferred' },
    ],
    ['it goes if the template has none', pinned, small, null, null],
  ];
  describe.each(['instancetype', 'preference'])('%s', (key) => {
    test.each(cases)('%s', (_title, live, base, target, result) => {
      const before = referring(key, live);
      const then = base === null ? null : referring(key, base);
      const after = mergeVm(before, then, referring(key, target));
      expect(after.spec[key] ?? null).toEqual(result);
      if (result === null || JSON.stringify(live) === JSON.stringify(result)) return;
      const patch = mergePatch(before, after)?.spec?.[key] as Json;
      const gone = Object.keys(live!).filter((field) => !(field in result));
      for (const field of gone) expect(patch[field]).toBe(null);
    });
  });
});

describe('a merge of disks', () => {
  test.each<[title: string, live: object, base: object | null, target: object, result: object]>([
    ["the template's change is taken", dataVolume('a'), dataVolume('a'), dataVolume('b'), dataVolume('b')],
    ['also one of kind', dataVolume('a'), dataVolume('a'), image('b'), image('b')],
    ['a restored disk stays', dataVolume('restore-a'), dataVolume('a'), dataVolume('a'), dataVolume('restore-a')],
    [
      'also when the template changes it',
      dataVolume('restore-a'),
      dataVolume('a'),
      dataVolume('b'),
      dataVolume('restore-a'),
    ],
    ['also when it is of another kind', claim('restore-a'), dataVolume('a'), dataVolume('a'), claim('restore-a')],
    ["an image is no disk of anybody's", image('mine'), image('a'), image('b'), image('b')],
    ['without a base a disk stays', dataVolume('a'), null, dataVolume('b'), dataVolume('a')],
    ['but not an image', image('a'), null, image('b'), image('b')],
    ['nor in the place of a disk', image('a'), null, dataVolume('b'), dataVolume('b')],
  ])('%s', (_title, live, base, target, result) => {
    expect(merged({ volumes: [live] }, base && { volumes: [base] }, { volumes: [target] })).toEqual({
      volumes: [result],
    });
  });

  test('keeps a hot-plugged disk of a name that the template begins to use', () => {
    const both = merged({ volumes: [claim('mine')] }, {}, { volumes: [dataVolume('new')] });
    expect(both).toEqual({ volumes: [claim('mine')] });
  });

  test('neither renames nor recreates disk templates', () => {
    const live = withTemplates(['restore-a'], [dataVolume('restore-a')]);
    const base = withTemplates(['a'], [dataVolume('a')]);
    expect(templatesOf(live, base, withTemplates(['a'], [dataVolume('a')]))).toEqual(['restore-a']);
    expect(templatesOf(live, base, withTemplates(['a', 'b'], [dataVolume('a')]))).toEqual(['restore-a', 'b']);
  });

  test('removes a template with its volume, since KubeVirt accepts none that no volume refers to', () => {
    const base = withTemplates(['a', 'b'], [dataVolume('a'), { name: 'data', dataVolume: { name: 'b' } }]);
    expect(templatesOf(base, base, withTemplates(['a'], [dataVolume('a')]))).toEqual(['a']);
    const restored = withTemplates(['restore-a'], [dataVolume('restore-a')]);
    expect(templatesOf(restored, withTemplates(['a'], [dataVolume('a')]), withTemplates([], []))).toEqual([]);
  });

  test('grows a larger disk, leaves a smaller one, and grows a restored disk in place of its original', () => {
    expect(grown([sized('a', '1Gi')], [sized('a', '2Gi')])).toEqual([
      [sized('a', '2Gi')],
      [{ name: 'a', from: '1Gi', to: '2Gi' }],
    ]);
    expect(grown([sized('a', '1Gi')], [sized('a', '2Gi')], 'a', null)).toEqual([
      [sized('a', '2Gi')],
      [{ name: 'a', from: '1Gi', to: '2Gi' }],
    ]);
    expect(grown([sized('a', '3Gi')], [sized('a', '2Gi')])).toEqual([[sized('a', '3Gi')], []]);
    expect(grown([sized('a', '1Gi')], [sized('a', '1024Mi')])).toEqual([[sized('a', '1Gi')], []]);
    expect(grown([sized('b', '1Gi')], [sized('a', '2Gi')], 'b', [sized('a', '1Gi')])).toEqual([
      [sized('b', '2Gi')],
      [{ name: 'b', from: '1Gi', to: '2Gi' }],
    ]);
  });

  test('never changes what a disk is filled from, but changes its labels', () => {
    const live = withSpec(disk('old', { tier: 'db', mine: 'x' }));
    const { spec } = mergeVm(live, withSpec(disk('old', { tier: 'db' })), withSpec(disk('new', { tier: 'web' })));
    expect(spec).toEqual(disk('old', { tier: 'web', mine: 'x' }));
  });

  test('adds a template without a base only with the volume that needs it', () => {
    const live = withTemplates(['restore-a'], [dataVolume('restore-a')]);
    const target = withTemplates(['a', 'b', 'c'], [dataVolume('a'), { name: 'data', dataVolume: { name: 'b' } }]);
    expect(templatesOf(live, null, target)).toEqual(['restore-a', 'b']);
  });
});

test('turns a new revision of labels alone into a patch of labels alone', () => {
  const spec = { runStrategy: 'Always', template: { spec: { domain: { devices: {} } } } };
  const [a, b] = [
    made({ metadata: { labels: { app: 'web', old: 'x' } }, spec }),
    made({ metadata: { labels: { app: 'shop' } }, spec }),
  ];
  const live = stored(a);
  const { 'drover.dev/revision': revision } = b.metadata.labels;
  const ours = { 'drover.dev/revision': revision };
  expect(mergePatch(live, mergeVm(live, a, b))).toEqual({
    metadata: { labels: { ...ours, app: 'shop', old: null } },
    spec: { template: { metadata: { labels: ours } } },
  });
});
