import { expect, test } from 'vitest';
import { checkVm } from '../../../clients/apply/check-vm.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { poolWith } from '../rollout/pools.ts';

const answering = (answer: () => Promise<unknown>) => ({ create: answer }) as unknown as KubeClient;
const failing = (status: number, message: string) =>
  answering(() => Promise.reject(new KubeError(status, 'Reason', message)));

test('a VM is tried as the template says, with every field known, and none is made', async () => {
  const asked: unknown[] = [];
  const kube = answering(async (...args: unknown[]) => void asked.push(...args));
  const pool = poolWith();
  expect(await checkVm(kube, pool)).toEqual({ result: 'right' });
  expect(asked[1]).toEqual({ metadata: { name: 'web-0', namespace: 'default' }, spec: pool.spec.template.spec });
  expect(asked[2]).toEqual({ dryRun: true, strict: true });
});

test.each([400, 422])('a template that the API server answers with %d is wrong', async (status) => {
  expect(await checkVm(failing(status, 'unknown field "domian"'), poolWith())).toEqual({
    result: 'refused',
    why: 'unknown field "domian"',
  });
});

test.each([403, 404, 429, 500])('an answer of %d says nothing of the template', async (status) => {
  expect(await checkVm(failing(status, 'not now'), poolWith())).toEqual({ result: 'unchecked', why: 'not now' });
});

test('another VM of the name is no fault of the template', async () => {
  expect(await checkVm(failing(409, 'already exists'), poolWith())).toEqual({ result: 'right' });
});
