import { expect, test } from 'vitest';
import { Namespaces } from '../../../api/resources.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { aFleet, until } from '../fleet.ts';
import { KINDS, TestSets } from './sets.ts';

/** Without the simulator nothing empties namespaces: they stay as long as a test needs them to. */
const fleet = aFleet({ simulator: false });

test.each(KINDS)('%s say why nothing comes while their namespace is being deleted', async (_, kind) => {
  const sets = new TestSets(fleet, kind);
  const namespace = await fleet().namespace();
  await sets.create(namespace, 'web', { replicas: 2, template: kind.idle('web') });
  const [member, other] = await sets.settled(namespace, 'web', 2);
  await fleet().kube.delete(Namespaces, { name: namespace });
  await fleet().kube.delete(kind.members, member!.metadata);
  await until(async () =>
    expect(await sets.condition(namespace, 'web', 'ReplicaFailure')).toMatchObject({
      status: 'True',
      reason: 'FailedCreate',
      message: expect.stringContaining(`in namespace ${namespace} because it is being terminated`) as string,
    }),
  );

  const held = (finalizers: string[]) =>
    fleet().kube.patch(kind.members, other!.metadata, 'merge', { metadata: { finalizers } });
  await held(['example.com/held']);
  await fleet().kube.delete(kind.sets, { namespace, name: 'web' });
  await until(async () =>
    expect(await sets.condition(namespace, 'web', 'Progressing')).toMatchObject({
      reason: 'Deleting',
      message: `the set is being deleted, and goes after ${other!.metadata.name}`,
    }),
  );
  await held([]);
  await until(async () => expect(await sets.get(namespace, 'web')).toBeUndefined());
  expect(await ignoreNotFound(fleet().kube.get(kind.members, other!.metadata))).toBeUndefined();
});
