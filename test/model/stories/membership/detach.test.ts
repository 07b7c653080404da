import '../../world/real-code.ts';
import { expect, test } from 'vitest';
import { POOL_LABEL, REVISION_LABEL } from '../../../../api/names.ts';
import { aTemplate } from '../../pools.ts';
import { begun, play } from '../story.ts';

const MINUTE_MS = 60_000;

test('a VM that is detached before a worker sees that KubeVirt has observed its new spec is not restarted', async () => {
  let detached = 0;
  await play(
    async (world) => {
      await begun(world, { replicas: 3 });
      const revisionOf = (name: string): string | undefined => world.vm(name)?.metadata.labels?.[REVISION_LABEL];
      const before = revisionOf('web-1');
      await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
      const written = (): string | undefined => ['web-1', 'web-2', 'web-3'].find((name) => revisionOf(name) !== before);
      expect(await world.until(() => written() !== undefined, MINUTE_MS)).toBe(true);
      const name = written()!;
      const { uid, deletionTimestamp } = world.vmi(name)!.metadata;
      // With this seed, the worker has seen it at once.
      if (deletionTimestamp !== undefined) return;
      detached++;
      await world.people.detach(name);
      expect(await world.until(() => world.vm(name)!.metadata.labels?.[POOL_LABEL] === undefined, MINUTE_MS)).toBe(
        true,
      );
      await world.wait(MINUTE_MS);
      expect(world.vmi(name)?.metadata.uid).toBe(uid);
    },
    { lag: 2_000 },
    4,
  );
  expect(detached).toBeGreaterThan(0);
});
