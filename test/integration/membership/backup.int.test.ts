import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { controllerOf, type KubeObject, type Stored } from '../../../api/objects.ts';
import {
  ControllerRevisions,
  DataVolumes,
  PersistentVolumeClaims,
  VirtualMachinePools,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import { ignoreNotFound, isAlreadyExists } from '../../../kubernetes/errors.ts';
import { nowhere } from '../../clients/drover.ts';
import { droverHere } from '../../clients/in-process.ts';
import { aFleet, until } from '../fleet.ts';
import { withDisk } from '../healing/healings.ts';
import { TestPool } from '../rollout/rollouts.ts';
import { run } from './commands.ts';

const fleet = aFleet();
beforeAll(async () => void (await fleet().worker()));

/** In the order in which Velero puts kinds back: claims first, and the others by their names. */
const KINDS: readonly Resource[] = [
  PersistentVolumeClaims,
  ControllerRevisions,
  DataVolumes,
  VirtualMachinePools,
  VirtualMachines,
];

type Backup = Map<Resource, KubeObject[]>;

/** What a backup tool puts back: names, labels, annotations and specs; no owners, no UIDs and no status. */
async function backUp(namespace: string): Promise<Backup> {
  const saved = ({ metadata, status: _status, ...object }: Stored): KubeObject => {
    const { name, labels, annotations } = metadata;
    const kept = { name, namespace, ...(labels && { labels }), ...(annotations && { annotations }) };
    return { ...object, metadata: kept };
  };
  const lists = await Promise.all(KINDS.map((kind) => fleet().kube.list(kind, { namespace })));
  return new Map(KINDS.map((kind, index) => [kind, lists[index]!.items.map(saved)]));
}

async function putBack(backup: Backup, kinds: readonly Resource[] = KINDS, isMeant = (_one: KubeObject) => true) {
  for (const kind of kinds)
    for (const object of (backup.get(kind) ?? []).filter(isMeant))
      await fleet()
        .kube.create(kind, object)
        .catch((error: unknown) => {
          if (!isAlreadyExists(error)) throw error;
        });
}

async function deletePool({ namespace }: TestPool): Promise<void> {
  await fleet().kube.delete(VirtualMachinePools, { namespace, name: 'web' });
  const { kube } = fleet();
  await until(async () =>
    expect(await ignoreNotFound(kube.get(VirtualMachinePools, { namespace, name: 'web' }))).toBeUndefined(),
  );
  for (const kind of KINDS.filter((one) => one !== ControllerRevisions))
    await until(async () => {
      const { items } = await kube.list(kind, { namespace });
      expect(items.map(({ metadata }) => metadata.name)).toEqual([]);
    });
}

/** Waits until the pool has these VMs, all ready, and its namespace no others. */
async function expectOneFleet(pool: TestPool, names: string[]): Promise<void> {
  const { namespace } = pool;
  await until(async () => {
    const { metadata, status } = await pool.get();
    expect(status).toMatchObject({ readyReplicas: names.length, replicas: names.length });
    expect(status?.conditions?.filter(({ type }) => type === 'Restoring' || type === 'ReplicaFailure')).toEqual([]);
    const vms = await fleet().vms(namespace);
    expect(new Map(vms.map((vm) => [vm.metadata.name, controllerOf(vm)?.uid]))).toEqual(
      new Map(names.map((name) => [name, metadata.uid])),
    );
  });
}

test('VMs and disks that come back from a backup without owners, before or after their pool, are one fleet again', async () => {
  const pool = await TestPool.ready(fleet(), { replicas: 3, template: withDisk() });
  const backup = await backUp(pool.namespace);
  const names = ['web-1', 'web-2', 'web-3'];
  const [later, first] = [KINDS.slice(-2), KINDS.slice(0, -2)];
  for (const order of [later, later.toReversed()]) {
    await deletePool(pool);
    await putBack(backup, first);
    await putBack(backup, order.slice(0, 1));
    await putBack(backup, order.slice(1));
    await expectOneFleet(pool, names);
  }
});

/** The commands of the page, by the section that they are in. */
const page = readFileSync(new URL('../../../docs/backup.md', import.meta.url), 'utf8');
const commands = page.split(/^## /m).flatMap((section) => {
  const title = section.split('\n')[0]!;
  const lines = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, text]) => text!.trim().split('\n'));
  return lines.map((line) => ({ title, line }));
});

test('each command of docs/backup.md does what the page says', async () => {
  const pool = await TestPool.ready(fleet(), { replicas: 3, template: withDisk() });
  const names = ['web-1', 'web-2', 'web-3'];
  const { namespace } = pool;
  let backup: Backup = new Map();
  let lost = '';
  /** Plays Velero and kubectl, and runs all other commands. */
  const perform = async (line: string): Promise<void> => {
    const words = line.split(' ');
    const option = (name: string): string | undefined =>
      words.includes(name) ? words[words.indexOf(name) + 1] : undefined;
    const of = words.slice(0, 3).join(' ');
    if (of === 'velero backup create') backup = await backUp(namespace);
    else if (of === 'velero restore create') {
      const kinds = option('--include-resources')?.split(',');
      const isMeant = ({ plural, group }: Resource): boolean =>
        kinds?.includes(group === '' ? plural : `${plural}.${group}`) !== false;
      const [label, value] = option('--selector')?.split('=') ?? [];
      await putBack(
        backup,
        KINDS.filter(isMeant),
        ({ metadata }) => label === undefined || metadata.labels?.[label] === value,
      );
    } else if (of === 'kubectl scale dpool') await pool.patch({ replicas: Number(option('--replicas')) });
    else if (words[0] === 'kubectl') await expectOneFleet(pool, names);
    else if (words[0] === 'drover') {
      const args = words.slice(1).map((word) => (word === 'shop' ? namespace : word));
      const outcome =
        args[0] === 'setup'
          ? await droverHere(args, { ...nowhere, ...fleet().stack.env })
          : await run(fleet(), namespace, ...args);
      expect(outcome).toMatchObject({ code: 0 });
      if (args.includes('--remove')) await fleet().settled(namespace, 'web', ['web-1', 'web-3']);
    } else throw new Error(`nobody knows what "${line}" does`);
  };
  for (const { title, line } of commands) {
    if (['Restore a namespace', 'Restore a pool'].includes(title) && lost !== title) await deletePool(pool);
    lost = title;
    await perform(line);
  }
  expect(commands.length).toBeGreaterThan(8);
  await expectOneFleet(pool, names);
});
