import { describe, expect, test } from 'vitest';
import { NOT_LIVE, planRollout, startedFrom, withRoomToGrow } from '../../dev/simulator/rollout.ts';
import type { InstanceSpec, KubeVirt } from '../../dev/simulator/types.ts';
import { condition, guestSpec, instance, machine } from './simulated.ts';

const kubevirt = (configuration: NonNullable<KubeVirt['spec']>['configuration'] = {}): KubeVirt => ({
  metadata: { name: 'kubevirt' },
  spec: { configuration },
});
const domainOf = (domain: Partial<InstanceSpec['domain']>): InstanceSpec =>
  guestSpec({ domain: { ...guestSpec().domain, ...domain } });

/** A guest that was started from `from`. */
const started = (from: InstanceSpec, migratable = true) => ({
  ...instance('Running', {
    conditions: [condition('LiveMigratable', migratable ? 'True' : 'False')],
    memory: { guestAtBoot: '2Gi' },
  }),
  metadata: { ...instance('Running').metadata, annotations: { 'sim.drover.dev/started-from': startedFrom(from) } },
  spec: withRoomToGrow(from, kubevirt()),
});
const plan = (wanted: InstanceSpec, liveUpdate = true, migratable = true) =>
  planRollout(machine({ template: { spec: wanted } }), started(guestSpec(), migratable), liveUpdate);

describe('a change of a running template', () => {
  test.each([true, false])('that changes nothing needs nothing (live update %s)', (liveUpdate) => {
    expect(plan(guestSpec(), liveUpdate)).toEqual({ restartRequired: undefined, live: undefined });
  });

  test('in the order of its fields is none', () => {
    const { domain, ...rest } = guestSpec();
    expect(plan({ ...rest, domain: Object.fromEntries(Object.entries(domain).toReversed()) })).toEqual({
      restartRequired: undefined,
      live: undefined,
    });
  });

  test.each([
    ['the machine type', domainOf({ machine: { type: 'pc-q35-rhel9.4.0' } })],
    ['a field that the simulator knows nothing of', guestSpec({ hostname: 'other' })],
    ['cores', domainOf({ cpu: { sockets: 1, cores: 2 } })],
    ['the room to grow', domainOf({ cpu: { sockets: 1, maxSockets: 16 } })],
    ['the firmware UUID', domainOf({ firmware: { uuid: 'f-2' } })],
  ])('in %s waits for a restart', (_what, wanted) => {
    expect(plan(wanted)).toEqual({ restartRequired: NOT_LIVE, live: undefined });
  });

  test("that leaves the firmware UUID out means the guest's own", () => {
    expect(plan(domainOf({ firmware: {} }))).toEqual({ restartRequired: undefined, live: undefined });
  });

  test.each([
    ['sockets', domainOf({ cpu: { sockets: 2 } }), (spec: InstanceSpec) => spec.domain.cpu?.sockets, 2],
    ['memory', domainOf({ memory: { guest: '4Gi' } }), (spec: InstanceSpec) => spec.domain.memory?.guest, '4Gi'],
    ['the node selector', guestSpec({ nodeSelector: { zone: 'b' } }), (spec: InstanceSpec) => spec.nodeSelector, { zone: 'b' }],
    ['tolerations', guestSpec({ tolerations: [{ key: 'a' }] }), (spec: InstanceSpec) => spec.tolerations, [{ key: 'a' }]],
    ['affinity', guestSpec({ affinity: { nodeAffinity: {} } }), (spec: InstanceSpec) => spec.affinity, { nodeAffinity: {} }],
  ])('in %s goes live, or waits under Stage', (_what, wanted, field, expected) => {
    const { restartRequired, live } = plan(wanted);
    expect(restartRequired).toBeUndefined();
    expect(field(live!)).toEqual(expected);
    expect(live!.domain.cpu?.maxSockets).toBe(4);
    expect(plan(wanted, false)).toEqual({ restartRequired: NOT_LIVE, live: undefined });
  });

  test('one that is not live holds back those that are', () => {
    expect(plan({ ...domainOf({ cpu: { sockets: 2 } }), hostname: 'other' }).live).toBeUndefined();
  });

  test.each([
    [domainOf({ cpu: { sockets: 5 } }), /higher than what's available/],
    [domainOf({ memory: { guest: '9Gi' } }), /higher than what's available/],
    [domainOf({ memory: { guest: '1Gi' } }), /lower than what the VM started with/],
  ])('beyond what the guest was given room for waits for a restart', (wanted, message) => {
    expect(plan(wanted).restartRequired).toMatch(message);
  });

  test('fewer sockets wait for a restart', () => {
    const two = domainOf({ cpu: { sockets: 2 } });
    expect(planRollout(machine({ template: { spec: guestSpec() } }), started(two), true).restartRequired).toMatch(/Reduction/);
  });

  test('memory of a guest that cannot migrate waits for a restart', () => {
    expect(plan(domainOf({ memory: { guest: '4Gi' } }), true, false).restartRequired).toMatch(
      /only available for migratable VMs/,
    );
  });
});

describe('room to grow', () => {
  test('is four times what the guest starts with', () => {
    expect(withRoomToGrow(guestSpec(), kubevirt()).domain).toMatchObject({
      cpu: { sockets: 1, maxSockets: 4 },
      memory: { maxGuest: '8192Mi' },
    });
  });

  test("is the cluster's, or the VM's own, where they say so", () => {
    const configured = kubevirt({ liveUpdateConfiguration: { maxCpuSockets: 6, maxGuest: '3Gi' } });
    expect(withRoomToGrow(guestSpec(), configured).domain).toMatchObject({ cpu: { maxSockets: 6 }, memory: { maxGuest: '3Gi' } });
    const own = domainOf({ cpu: { sockets: 1, maxSockets: 2 }, memory: { guest: '2Gi', maxGuest: '5Gi' } });
    expect(withRoomToGrow(own, configured).domain).toMatchObject({ cpu: { maxSockets: 2 }, memory: { maxGuest: '5Gi' } });
  });

  test('is none for a small guest, and none under Stage', () => {
    expect(withRoomToGrow(domainOf({ memory: { guest: '512Mi' } }), kubevirt()).domain.memory).toEqual({ guest: '512Mi' });
    const staged = kubevirt({ vmRolloutStrategy: 'Stage' });
    expect(withRoomToGrow(guestSpec(), staged)).toEqual(guestSpec());
  });
});
