import '../world/real-code.ts';
import { expect, test } from 'vitest';
import { REVISION_LABEL, UID_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { controllerOf } from '../../../api/objects.ts';
import type { HandledRequest } from '../../../api/pool/pool.ts';
import { VirtualMachinePools } from '../../../api/resources.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { healingRequest, membershipRequest, rolloutRequest } from '../../requests.ts';
import { aSpec, aTemplate } from '../pools.ts';
import { begun, play, statusOf } from '../stories/story.ts';
import { NAMESPACE } from '../world/names.ts';
import type { World } from '../world/world.ts';

/** Requests that a pool is created with, while the API server refuses to write the status that would answer them. */

const MINUTE_MS = 60_000;
const POOL = aSpec({ replicas: 2 });

const REQUESTS = {
  pause: rolloutRequest({ spec: POOL }, 'pause'),
  resume: rolloutRequest({ spec: POOL }, 'resume'),
  abort: rolloutRequest({ spec: POOL }, 'abort'),
  promote: rolloutRequest({ spec: POOL }, 'promote'),
  'heal pause': healingRequest({ action: 'pause' }),
  'heal resume': healingRequest({ action: 'resume' }),
  'heal now': healingRequest({ action: 'now', vms: ['web-1'] }),
  'heal skip': healingRequest({ action: 'skip', vms: ['web-1'] }),
  takeover: membershipRequest({ action: 'takeover' }),
  release: membershipRequest({ action: 'release' }),
};

/** Has so many writes of the status of pools fail, as those of an object that is too large do. */
function failStatuses(world: World, times: number): void {
  let left = times;
  world.refuse = ({ resource, subresource }) =>
    resource === VirtualMachinePools && subresource === 'status' && left-- > 0
      ? new KubeError(500, 'InternalError', 'etcdserver: request is too large')
      : null;
}

const handled = (world: World): readonly HandledRequest[] => {
  const { rollout, healing, membership } = statusOf(world) ?? {};
  return [rollout, healing, membership].flatMap((one) => one?.handledRequests ?? []);
};

test.each(Object.keys(REQUESTS) as (keyof typeof REQUESTS)[])(
  'a new pool never does what it was created with, however many writes of its status fail: %s',
  async (kind) => {
    for (const times of [0, 1, 2, 5, Infinity])
      await play(
        async (world) => {
          failStatuses(world, times);
          await world.people.createVm('old', {});
          const { annotations } = REQUESTS[kind];
          const metadata = { namespace: NAMESPACE, name: 'web', annotations };
          await world.people.client.create(VirtualMachinePools, { metadata, spec: { ...POOL } });
          await world.wait(5 * MINUTE_MS);
          const outcomes = handled(world).map(({ outcome }) => outcome);
          expect({ times, outcomes }).toEqual({ times, outcomes: times === Infinity ? [] : ['Refused'] });
          expect([controllerOf(world.vm('old')!), world.vms.length]).toEqual([undefined, 3]);
        },
        {},
        1,
      );
  },
);

test('a request that is refused as long as a pool is being restored stays refused, though that could not be written', () =>
  play(async (world) => {
    await begun(world, { replicas: 2 });
    await world.people.createVm('old', {});
    await world.wait(MINUTE_MS);
    failStatuses(world, 3);
    const { annotations } = REQUESTS.takeover;
    await world.people.client.patch(VirtualMachinePools, { namespace: NAMESPACE, name: 'web' }, 'merge', {
      metadata: { annotations: { ...annotations, [UID_ANNOTATION]: 'of-before' } },
    });
    expect(await world.until(() => handled(world).length === 1, 5 * MINUTE_MS)).toBe(true);
    await world.wait(MINUTE_MS);
    expect(handled(world)).toMatchObject([{ outcome: 'Refused', vms: [] }]);
    expect(controllerOf(world.vm('old')!)).toBeUndefined();
  }));

test.each([1, 3, Infinity])(
  'a rollout begins no batch before its status says so, and VMs are made all the same, if %d writes fail',
  (times) =>
    play(async (world) => {
      await begun(world, { replicas: 2 });
      failStatuses(world, times);
      await world.people.changePool('web', { replicas: 3, template: aTemplate({ version: 2 }) });
      await world.wait(5 * MINUTE_MS);
      const { spec } = world.pool('web')!;
      const updated = world.vms.filter(
        ({ metadata }) => metadata.labels?.[REVISION_LABEL] === revisionOf(poolTemplate(spec)),
      );
      expect([world.vms.length, updated.length]).toEqual([3, times === Infinity ? 0 : 3]);
    }),
);
