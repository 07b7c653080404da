import { expect, test } from 'vitest';
import { checkMember } from '../../../clients/apply/check-member.ts';
import { Pools } from '../../../clients/cli/kinds.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { setWith, VmSets } from '../replica-sets/sets.ts';
import { poolWith } from '../rollout/pools.ts';

const answering = (answer: () => Promise<unknown>) => ({ create: answer }) as unknown as KubeClient;
const failing = (status: number, message: string) =>
  answering(() => Promise.reject(new KubeError(status, 'Reason', message)));

test('a VM is dry-run as the template says, with every field known, and none is made', async () => {
  const asked: unknown[] = [];
  const kube = answering(async (...args: unknown[]) => void asked.push(...args));
  const pool = poolWith();
  expect(await checkMember(kube, Pools, pool)).toEqual({ result: 'right' });
  expect(asked[1]).toEqual({ metadata: { name: 'web-0', namespace: 'default' }, spec: pool.spec.template.spec });
  expect(asked[2]).toEqual({ dryRun: true, strict: true });
});

test.each([400, 422])('a template that the API server answers with %d is wrong', async (status) => {
  expect(await checkMember(failing(status, 'unknown field "domian"'), Pools, poolWith())).toEqual({
    result: 'refused',
    message: 'unknown field "domian"',
  });
});

test.each([403, 404, 429, 500])('an answer of %d says nothing about the template', async (status) => {
  expect(await checkMember(failing(status, 'not now'), Pools, poolWith())).toEqual({
    result: 'unchecked',
    message: 'not now',
  });
});

test('another VM of the name is not a fault of the template', async () => {
  expect(await checkMember(failing(409, 'already exists'), Pools, poolWith())).toEqual({ result: 'right' });
});

test('a VM of a set is dry-run under a name that none of its VMs has', async () => {
  const asked: unknown[] = [];
  const kube = answering(async (...args: unknown[]) => void asked.push(...args));
  const set = setWith();
  expect(await checkMember(kube, VmSets, set)).toEqual({ result: 'right' });
  const { metadata, spec } = set.spec.template;
  expect(asked[1]).toEqual({ metadata: { name: 'web-0', namespace: 'default', labels: metadata!.labels }, spec });
});
