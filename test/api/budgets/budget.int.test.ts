import { expect, test } from 'vitest';
import type { KubeObject } from '../../../api/objects.ts';
import {
  ClusterVirtualMachineDisruptionBudgets,
  VirtualMachineDisruptionBudgets,
  type Resource,
} from '../../../api/resources.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { anApiServer } from '../api-server.ts';
import { budgetManifest, REFUSED, TAKEN } from './budgets.ts';

const server = anApiServer();

const refusalOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'accepted',
    (error: unknown) => {
      if (error instanceof KubeError) return error.message;
      throw error;
    },
  );

/** Tries it with both kinds; returns each different answer once. */
async function answersTo(spec: object): Promise<string[]> {
  const tries = [VirtualMachineDisruptionBudgets, ClusterVirtualMachineDisruptionBudgets].map((resource) =>
    refusalOf(server().client.create(resource, asWritten(resource, spec), { dryRun: true, strict: true })),
  );
  return [...new Set(await Promise.all(tries))];
}

const asWritten = ({ kind, namespaced }: Resource, spec: object): KubeObject => ({
  ...budgetManifest(spec),
  kind,
  metadata: { name: 'db', ...(namespaced && { namespace: 'default' }) },
});

test.each(TAKEN)('the API server accepts a budget with %j', async (spec) => {
  expect(await answersTo(spec)).toEqual(['accepted']);
});

test.each(REFUSED)('the API server refuses a budget with %j, in the same sentence', async (spec, fault) => {
  for (const answer of await answersTo(spec)) expect(answer).toContain(fault);
});

test('the API server refuses an unknown time zone', async () => {
  const windows = [{ cron: '0 22 * * *', duration: '8h', timeZone: 'Europe/Zurihc' }];
  for (const answer of await answersTo({ windows, outside: 'Deny' }))
    expect(answer).toContain('must be the name of a time zone such as Europe/Zurich or UTC');
});

test('the API server wants a selector, an empty one to be written, and of namespaces only cluster-wide', async () => {
  const { client } = server();
  const create = (resource: Resource, spec: object) =>
    refusalOf(client.create(resource, asWritten(resource, spec), { dryRun: true, strict: true }));
  const spec = { selector: undefined, maxUnavailable: 1 };
  expect(await create(VirtualMachineDisruptionBudgets, spec)).toContain('spec.selector: Required value');
  const selecting = { maxUnavailable: 1, namespaceSelector: { matchLabels: { team: 'shop' } } };
  expect(await create(VirtualMachineDisruptionBudgets, selecting)).toContain('unknown field "spec.namespaceSelector"');
  expect(await create(ClusterVirtualMachineDisruptionBudgets, selecting)).toBe('accepted');
});

test('VMs of one name in two namespaces each have a claim in a budget, and the status belongs to nobody who writes the spec', async () => {
  const { client } = server();
  const name = { name: 'claimed' };
  const at = '2026-01-01T00:00:00Z';
  const claim = (namespace: string) => ({ vm: 'db-1', namespace, by: 'run', at, reason: 'Restart' });
  const write = (claims: object[]) =>
    refusalOf(
      client.patch(
        ClusterVirtualMachineDisruptionBudgets,
        name,
        'merge',
        { status: { claims } },
        { subresource: 'status' },
      ),
    );
  const budget = { ...asWritten(ClusterVirtualMachineDisruptionBudgets, { maxUnavailable: 1 }), metadata: name };
  const made = await client.create<KubeObject>(ClusterVirtualMachineDisruptionBudgets, {
    ...budget,
    status: { claims: [claim('shop')] },
  });
  expect(made['status']).toEqual({ observedGeneration: 0 });
  expect(await write([claim('shop'), claim('lab')])).toBe('accepted');
});
