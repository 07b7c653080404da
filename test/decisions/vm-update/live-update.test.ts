import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { VmTemplate } from '../../../api/pool/pool.ts';
import { placementOf } from '../../../decisions/template/placement.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { liveProgress, liveRefusal } from '../../../decisions/vm-update/live-update.ts';
import { aVm, aVmi } from '../fixtures/fleets.ts';
import { anyTemplate } from '../fixtures/templates.ts';

const to = (sockets?: number, memory?: string | number): VmTemplate => ({
  spec: {
    runStrategy: 'Always',
    template: {
      spec: {
        domain: {
          ...(sockets === undefined ? {} : { cpu: { sockets } }),
          ...(memory === undefined ? {} : { memory: { guest: memory } }),
        },
      },
    },
  },
});
const vm = aVm('web-1');
const CPU = { sockets: 2, maxSockets: 8, current: 2 };
const MEMORY = { guest: '2Gi', maxGuest: '4Gi', atBoot: '1Gi', current: '2Gi' };
const vmi = (
  cpu: Partial<VmiView['cpu']> = {},
  memory: Partial<VmiView['memory']> = {},
  fields: Partial<VmiView> = {},
): VmiView => aVmi(vm, { cpu: { ...CPU, ...cpu }, memory: { ...MEMORY, ...memory }, ...fields });
const STUCK = { migratable: false };

describe('a live update is refused', () => {
  test.each<[title: string, to: VmTemplate, vmi: VmiView, why: RegExp | null]>([
    ['more sockets, with room', to(4), vmi(), null],
    ['as many as there is room for', to(8), vmi(), null],
    ['more than that', to(10), vmi(), /10 sockets are more than the 8/],
    ['fewer', to(1), vmi(), /1 sockets are fewer than the 2/],
    ['no other', to(2), vmi({}, {}, STUCK), null],
    [
      'sockets of a VMI that was started without room',
      to(4),
      vmi({ maxSockets: null }),
      /without room for more sockets/,
    ],
    ['sockets of a VMI that is not migratable', to(4), vmi({}, {}, STUCK), /cannot be migrated/],
    ['more memory, with room', to(2, '3Gi'), vmi(), null],
    ['as much as there is room for', to(2, '4096Mi'), vmi(), null],
    ['more than that, by little', to(2, '4097Mi'), vmi(), /4097Mi of memory are more than the 4Gi/],
    ['less, but not less than at the start', to(2, '1Gi'), vmi(), null],
    ['less than at the start', to(2, '1023Mi'), vmi(), /1023Mi of memory are less than the 1Gi/],
    ['less, if nobody knows the start', to(2, '1Gi'), vmi({}, { atBoot: null }), /less than the 2Gi/],
    ['the same by another name', to(2, '2048Mi'), vmi({}, {}, STUCK), null],
    ['the same as a number', to(2, 2 ** 31), vmi({}, {}, STUCK), null],
    [
      'memory of a VMI that was started without room',
      to(2, '3Gi'),
      vmi({}, { maxGuest: null }),
      /without room for another amount/,
    ],
    ['memory of a VMI that is not migratable', to(2, '3Gi'), vmi({}, {}, STUCK), /cannot be migrated/],
    ['what is no memory', to(2, 'lots'), vmi(), /lots is not an amount/],
    ['neither', to(), vmi({ maxSockets: null }, { maxGuest: null }, STUCK), null],
    ['good sockets, bad memory', to(4, '5Gi'), vmi(), /5Gi/],
  ])('%s', (_title, to, vmi, why) => {
    if (why === null) expect(liveRefusal(to, vmi)).toBeNull();
    else expect(liveRefusal(to, vmi)).toMatch(why);
  });
});

const waiting = (what: string): object => ({ state: 'waiting', why: expect.stringContaining(what) as string });

describe('the progress of a live update', () => {
  test.each<[title: string, to: VmTemplate, vmi: VmiView, progress: object]>([
    ['all there', to(2, '2Gi'), vmi(), { state: 'done' }],
    ['nothing to be there', to(), vmi({ sockets: 7 }), { state: 'done' }],
    ['sockets not asked for', to(4), vmi(), waiting('asked for 4 sockets')],
    ['sockets not plugged in', to(4), vmi({ sockets: 4 }), waiting('has 2 of 4 sockets')],
    ['sockets plugged in', to(4), vmi({ sockets: 4, current: 4 }), { state: 'done' }],
    ["sockets of which KubeVirt doesn't tell", to(4), vmi({ sockets: 4, current: null }), { state: 'done' }],
    ['memory not asked for', to(2, '3Gi'), vmi(), waiting('asked for 3Gi')],
    ['memory not plugged in', to(2, '3Gi'), vmi({}, { guest: '3Gi' }), waiting('has 2Gi of memory, not yet 3Gi')],
    ['memory plugged in', to(2, '3Gi'), vmi({}, { guest: '3072Mi', current: '3145728Ki' }), { state: 'done' }],
    [
      "memory of which KubeVirt doesn't tell",
      to(2, '3Gi'),
      vmi({}, { guest: '3Gi', current: null }),
      { state: 'done' },
    ],
    [
      'placement of another',
      to(),
      vmi({}, {}, { placement: placementOf({ nodeSelector: { zone: 'a' } }) }),
      waiting('node selector'),
    ],
  ])('%s', (_title, to, vmi, progress) => expect(liveProgress({ ...vm, spec: to.spec }, vmi)).toEqual(progress));

  test('the placement is that of the VM, with what users added', () => {
    const spec = { nodeSelector: { zone: 'a', people: 'x' } };
    const placed = vmi({}, {}, { placement: placementOf(spec) });
    expect(liveProgress({ ...vm, spec: { template: { spec } } }, placed)).toEqual({ state: 'done' });
  });

  test("the outcome is KubeVirt's refusal, unless the VMI has the change already", () => {
    const refused = { ...vm, spec: to(4).spec, restartRequired: { since: 0, message: 'CPU sockets' } };
    expect(liveProgress(refused, vmi())).toEqual({ state: 'refused', message: 'CPU sockets' });
    expect(liveProgress({ ...refused, spec: to(2).spec }, vmi())).toEqual({ state: 'done' });
    const wordless = { ...refused, restartRequired: { since: 0, message: '' } };
    expect(liveProgress(wordless, vmi())).toEqual({
      state: 'refused',
      message: expect.stringContaining('restart') as string,
    });
  });
});

const nic = { name: 'blue', bridge: {} };
const wanting = (fields: object, devices: object = {}): typeof vm => ({
  ...vm,
  spec: { template: { spec: { ...fields, domain: { devices } } } },
});
const blue = { name: 'blue', multus: { networkName: 'blue' } };
const having = (plugged: Partial<VmiView['plugged']>): VmiView =>
  vmi({}, {}, { plugged: { interfaces: [], volumes: [], ...plugged } });

describe('a live update of hot-plugged devices', () => {
  test('waits for an interface', () => {
    const wants = wanting({ networks: [blue] }, { interfaces: [nic] });
    expect(liveProgress(wants, having({}))).toEqual({
      state: 'waiting',
      why: 'the VMI does not have the interface blue yet',
    });
    expect(liveProgress(wants, having({ interfaces: ['blue'] }))).toEqual({ state: 'done' });
    const absent = wanting({ networks: [blue] }, { interfaces: [{ ...nic, state: 'absent' }] });
    expect(liveProgress(absent, having({ interfaces: ['blue'] }))).toMatchObject({ state: 'waiting' });
    expect(liveProgress(absent, having({}))).toEqual({ state: 'done' });
    // virt-handler tells nothing of the kind of others.
    expect(liveProgress(wanting({ networks: [{ name: 'blue', pod: {} }] }, { interfaces: [nic] }), having({}))).toEqual(
      {
        state: 'done',
      },
    );
  });
  test('waits for a volume', () => {
    const wants = wanting({ volumes: [{ name: 'data', dataVolume: { name: 'data', hotpluggable: true } }] });
    expect(liveProgress(wants, having({}))).toEqual({
      state: 'waiting',
      why: 'the VMI does not have the volume data yet',
    });
    expect(liveProgress(wants, having({ volumes: ['data'] }))).toEqual({ state: 'done' });
    expect(liveProgress(wanting({}), having({ volumes: ['of-a-person'] }))).toEqual({ state: 'done' });
  });
  test('waits for the size that an instance type stands for, and where its VMs may run', () => {
    const large = { of: { spec: { ...to().spec, instancetype: { name: 'large' } } }, to: to(4, '2Gi') };
    Object.assign(large.to.spec.template.spec!, { nodeSelector: { pool: 'large' } });
    const refers = { ...vm, spec: large.of.spec };
    const placed = { placement: placementOf({ nodeSelector: { pool: 'large' } }) };
    const waits = { state: 'waiting', why: 'the VMI has 2 of 4 sockets' };
    expect(liveProgress(refers, vmi({ sockets: 4 }, {}, placed), large)).toEqual(waits);
    expect(liveProgress(refers, vmi({ sockets: 4, current: 4 }, {}, placed), large)).toEqual({ state: 'done' });
    expect(liveProgress(refers, vmi({ sockets: 4, current: 4 }), large)).toMatchObject({ state: 'waiting' });
    const own = { ...refers, spec: { ...refers.spec, instancetype: { name: 'a person chose it' } } };
    expect(liveProgress(own, vmi(), large)).toEqual({ state: 'done' });
  });
});

test('a live update is not refused for taking away what the VMI never got', () => {
  const pending = vmi({ sockets: 4, current: 2 });
  expect(liveRefusal(to(2), pending, to(4))).toBeNull();
  expect(liveProgress({ ...vm, spec: to(2).spec }, pending)).toEqual({ state: 'done' });
  const memory = vmi({}, { guest: '3Gi', current: '2Gi' });
  expect(liveRefusal(to(2, '2Gi'), memory, to(2, '3Gi'))).toBeNull();
  expect(liveProgress({ ...vm, spec: to(2, '2Gi').spec }, memory)).toEqual({ state: 'done' });
});

describe('a comparison of placement', () => {
  test('treats an absent value as empty, and ignores the order of keys', () => {
    expect(placementOf({ nodeSelector: {}, tolerations: [], affinity: null, other: 1 })).toBe('{}');
    expect(placementOf(undefined)).toBe('{}');
    expect(placementOf({ nodeSelector: { a: '1', b: '2' } })).toBe(
      placementOf({ affinity: {}, nodeSelector: { b: '2', a: '1' } }),
    );
    expect(placementOf({ tolerations: [{ key: 'a' }, { key: 'b' }] })).not.toBe(
      placementOf({ tolerations: [{ key: 'b' }, { key: 'a' }] }),
    );
  });
});

interface VmiSpec {
  domain: {
    cpu?: { sockets?: number };
    memory?: { guest?: string };
    devices?: { interfaces?: { name: string }[] };
  };
  volumes?: { name: string }[];
}

const startedFrom = ({ spec }: VmTemplate): VmiView => {
  const vmi = spec.template.spec as unknown as VmiSpec;
  const sockets = vmi.domain.cpu?.sockets ?? 1;
  const memory = vmi.domain.memory?.guest ?? null;
  return aVmi(vm, {
    cpu: { sockets, maxSockets: sockets * 2, current: sockets },
    memory: { guest: memory, maxGuest: memory === null ? null : '2Gi', atBoot: memory, current: memory },
    placement: placementOf(vmi),
    plugged: {
      interfaces: vmi.domain.devices?.interfaces?.map(({ name }) => name) ?? [],
      volumes: vmi.volumes?.map(({ name }) => name) ?? [],
    },
  });
};

test('a VMI that was started from any template needs nothing, and one whose update is refused is not done', () => {
  fc.assert(
    fc.property(anyTemplate(), anyTemplate(), (from, to) => {
      const started = startedFrom(from);
      expect(liveRefusal(from, started)).toBeNull();
      expect(liveProgress({ ...vm, spec: from.spec }, started)).toEqual({ state: 'done' });
      if (liveRefusal(to, started) !== null)
        expect(liveProgress({ ...vm, spec: to.spec }, started)).toMatchObject({ state: 'waiting' });
    }),
    { numRuns: 2_000 },
  );
});
