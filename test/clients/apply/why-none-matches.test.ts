import { expect, test } from 'vitest';
import type { Resource } from '../../../api/resources.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import { whyNoneMatches } from '../../../clients/apply/why-none-matches.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { aBudget } from '../../api/budgets/budgets.ts';

const items = (...names: string[]) => ({ items: names.map((name) => ({ metadata: { name } })) });

/** Answers with these VMs, and this VMI, to who lists those with the labels. */
const kubeWith = (vms: () => object) => {
  const asked: object[] = [];
  const list = async (resource: Resource, options: object) => {
    asked.push(options);
    return resource === VirtualMachines ? vms() : items('db-1');
  };
  return { kube: { list } as unknown as KubeClient, asked };
};

test('a budget whose labels only VMIs have is told from one that matches VMs', async () => {
  const { kube, asked } = kubeWith(() => items());
  expect(await whyNoneMatches(kube, { after: aBudget() })).toEqual([
    expect.stringContaining('budget db: no VM has the labels of spec.selector, only VMIs such as db-1'),
  ]);
  const list = { namespace: 'shop', labelSelector: 'app=db', metadataOnly: true };
  expect(asked).toEqual([list, list]);
  expect(await whyNoneMatches(kubeWith(() => items('db-1')).kube, { after: aBudget() })).toEqual([]);
});

test('nothing is said to users who may not list VMs', async () => {
  const { kube } = kubeWith(() => {
    throw new KubeError(403, 'Forbidden', 'no');
  });
  expect(await whyNoneMatches(kube, { after: aBudget() })).toEqual([]);
});
