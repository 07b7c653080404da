import { expect, test } from 'vitest';
import { CHANGES_ANNOTATION } from '../../../api/names.ts';
import { applyChange } from '../../../clients/changes/apply.ts';
import type { Vm } from '../../../clients/changes/plan.ts';
import { notesOf, undoChange } from '../../../clients/changes/undo.ts';
import { isObject, type Json } from '../../../decisions/lib/json.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError, KubeUnreachable } from '../../../kubernetes/errors.ts';

const NOTE = { id: 'change-1', at: '2026-01-01T00:00:00Z', by: 'ada', maxFailures: 0 };
const PATCH = { metadata: { labels: { tier: 'gold' } }, spec: { template: { spec: { hostname: 'db' } } } };

const aVm = (name: string, spec: object = {}, metadata: object = {}): Vm =>
  ({
    metadata: { namespace: 'shop', name, uid: `vm ${name}`, resourceVersion: '1', ...metadata },
    spec: { runStrategy: 'Halted', template: { spec: { domain: {}, ...spec } } },
  }) as unknown as Vm;

function merged(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Json = { ...(isObject(target) ? target : {}) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}

/** An API server that has these VMs. */
class Server {
  readonly vms: Map<string, Vm>;
  readonly patched: string[] = [];
  /** Called with the name of a VM before and after it is written; `after` may throw, so that the answer is lost. */
  before: (name: string) => void = () => {};
  after: (name: string) => void = () => {};

  constructor(...vms: Vm[]) {
    this.vms = new Map(vms.map((vm) => [vm.metadata.name, vm]));
  }

  get client(): KubeClient {
    const get = (_resource: unknown, { name }: { name: string }) => {
      const vm = this.vms.get(name);
      return vm === undefined ? Promise.reject(new KubeError(404, 'NotFound', name)) : Promise.resolve(vm);
    };
    const patch = async (_resource: unknown, { name }: { name: string }, _kind: string, body: Json) => {
      this.before(name);
      const { resourceVersion } = (body as { metadata: { resourceVersion: string } }).metadata;
      if (resourceVersion !== this.vms.get(name)!.metadata.resourceVersion)
        throw new KubeError(409, 'Conflict', 'it has changed');
      this.write(name, body);
      this.patched.push(name);
      this.after(name);
      return Promise.resolve();
    };
    return { get, patch } as unknown as KubeClient;
  }

  write(name: string, body: Json): void {
    const after = merged(this.vms.get(name), body) as Vm;
    const resourceVersion = String(Number(after.metadata.resourceVersion) + 1);
    this.vms.set(name, { ...after, metadata: { ...after.metadata, resourceVersion } });
  }

  all(): Vm[] {
    return [...this.vms.values()];
  }

  hostname(name: string): unknown {
    return (this.vms.get(name)!.spec as { template: { spec: Json } }).template.spec['hostname'];
  }
}

/** Does this the first time only. */
function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act();
  };
}

/** What people see of a VM, apart from its version. */
const plain = ({ metadata: { resourceVersion: _version, annotations: _none, ...metadata }, ...rest }: Vm) => ({
  ...rest,
  metadata: { ...metadata, labels: metadata.labels ?? {} },
});

test('VMs are changed, and told in one write what was there before; undone, they are as they were', async () => {
  const server = new Server(aVm('a'), aVm('b', { hostname: 'old' }, { labels: { x: 'y' } }));
  const before = server.all();
  const outcome = await applyChange(server.client, before, PATCH, NOTE);
  expect(outcome).toEqual({ changed: ['shop/a', 'shop/b'], failed: [], left: [], unnoted: [], open: 0 });
  expect([server.hostname('a'), server.hostname('b')]).toEqual(['db', 'db']);
  expect(server.patched).toEqual(['a', 'b']);
  expect(await undoChange(server.client, server.all(), 'change-1')).toEqual({
    undone: ['shop/a', 'shop/b'],
    kept: [],
    failed: [],
  });
  expect(server.all().map(plain)).toEqual(before.map(plain));
  expect(server.all().map(notesOf)).toEqual([[], []]);
});

test('no VM is changed twice, though an answer is lost and a person has undone it since', async () => {
  const server = new Server(aVm('a', { hostname: 'old' }));
  server.after = once(() => {
    server.write('a', { spec: { template: { spec: { hostname: 'theirs' } } } });
    throw new KubeUnreachable('no answer');
  });
  const outcome = await applyChange(server.client, server.all(), PATCH, NOTE);
  expect(outcome).toMatchObject({ changed: ['shop/a'], failed: [] });
  expect(server.hostname('a')).toBe('theirs');
  expect(server.patched).toEqual(['a']);
  expect(await undoChange(server.client, server.all(), 'change-1')).toMatchObject({
    undone: ['shop/a'],
    kept: [{ vm: 'shop/a', paths: ['spec.template.spec.hostname'] }],
  });
  expect(server.hostname('a')).toBe('theirs');
  expect(server.vms.get('a')!.metadata.labels?.['tier']).toBeUndefined();
});

test('an undo whose answer is lost tells what it has kept', async () => {
  const server = new Server(aVm('a', { hostname: 'old' }));
  await applyChange(server.client, server.all(), PATCH, NOTE);
  server.write('a', { spec: { template: { spec: { hostname: 'theirs' } } } });
  server.after = once(() => {
    throw new KubeUnreachable('no answer');
  });
  expect(await undoChange(server.client, server.all(), 'change-1')).toMatchObject({
    undone: ['shop/a'],
    kept: [{ paths: ['spec.template.spec.hostname'] }],
  });
});

test('a VM that changes meanwhile is looked at again', async () => {
  const server = new Server(aVm('a'), aVm('b'), aVm('c'));
  const all = server.all();
  const owner = {
    apiVersion: 'drover.dev/v1alpha1',
    kind: 'VirtualMachinePool',
    name: 'web',
    uid: 'u',
    controller: true,
  };
  server.before = once(() => {
    server.write('a', { spec: { template: { spec: { hostname: 'theirs' } } } });
    server.write('b', { metadata: { ownerReferences: [owner] } });
    server.vms.set('c', aVm('c', {}, { uid: 'another', resourceVersion: '9' }));
  });
  const { changed, left } = await applyChange(server.client, all, PATCH, NOTE);
  expect(changed).toEqual(['shop/a']);
  expect(left.map(({ vm, why }) => `${vm}: ${why}`).sort()).toEqual([
    'shop/b: its template says it: change that of VirtualMachinePool web',
    'shop/c: it was deleted',
  ]);
  expect(notesOf(server.vms.get('a')!)[0]!.edits).toContainEqual({
    path: ['spec', 'template', 'spec', 'hostname'],
    was: 'theirs',
    is: 'db',
  });
});

test('too many failures end it', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `vm-${index}`);
  const server = new Server(...names.map((name) => aVm(name)));
  server.before = () => {
    throw new KubeError(422, 'Invalid', 'no');
  };
  const { changed, failed, open } = await applyChange(server.client, server.all(), PATCH, { ...NOTE, maxFailures: 1 });
  expect(changed).toEqual([]);
  expect(failed[0]).toEqual({ vm: 'shop/vm-0', why: 'no' });
  expect(failed.length).toBeLessThanOrEqual(5);
  expect(open).toBe(20 - failed.length);
});

test('what was too long to be noted is told, and is not undone', async () => {
  const server = new Server(aVm('a', { hostname: 'x'.repeat(40_000) }));
  expect(await applyChange(server.client, server.all(), PATCH, NOTE)).toMatchObject({
    changed: ['shop/a'],
    unnoted: ['shop/a'],
  });
  expect(server.vms.get('a')!.metadata.annotations![CHANGES_ANNOTATION]!.length).toBeLessThan(200);
  expect(await undoChange(server.client, server.all(), 'change-1')).toMatchObject({
    undone: [],
    failed: [{ vm: 'shop/a', why: 'what was there before was too long to be noted' }],
  });
});
