import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { VirtualMachines } from '../../api/resources.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { KubeConfigError, loadKubeConfig } from '../../kubernetes/config.ts';

const root = mkdtempSync(join(tmpdir(), 'drover-kubeconfig-'));
afterAll(() => rmSync(root, { recursive: true }));

const kubeconfig = (parts: object = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'u', user: {} }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
    ...parts,
  });

function fileOf(name: string, text: string): string {
  const file = join(root, name);
  writeFileSync(file, text);
  return file;
}

const clusterWith = (fields: object): object => ({
  clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1', ...fields } }],
});
const userWith = (user: object): object => ({ users: [{ name: 'u', user }] });

describe('a fault of a kubeconfig is reported in one sentence with its name', () => {
  test.each([
    [
      'broken YAML',
      'clusters:\n  - name: [\n  foo: : bar\n',
      'FILE is not a valid kubeconfig: deficient indentation (3:3); give another with --kubeconfig',
    ],
    [
      'no YAML',
      '',
      'FILE is not a valid kubeconfig: expected a document, but the input is empty; give another with --kubeconfig',
    ],
    [
      'a Pod',
      'apiVersion: v1\nkind: Pod\n',
      'FILE is not a valid kubeconfig: it has no clusters, contexts or users; give another with --kubeconfig',
    ],
    [
      'no server',
      kubeconfig({ clusters: [{ name: 'c', cluster: {} }] }),
      'FILE is not a valid kubeconfig: clusters[0].cluster.server is missing; give another with --kubeconfig',
    ],
    [
      'no current context',
      kubeconfig({ 'current-context': '' }),
      'kubeconfig FILE has no current context; give --context with one that it has: x',
    ],
    [
      'a current context that is none',
      kubeconfig({ 'current-context': 'old' }),
      'kubeconfig FILE has no context old, which it calls current; it has x',
    ],
    [
      'a cluster that is none',
      kubeconfig({ clusters: [] }),
      'kubeconfig FILE: the cluster c of context x is not in it',
    ],
    ['a user that is none', kubeconfig({ users: [] }), 'kubeconfig FILE: the user u of context x is not in it'],
    [
      'a server that is no URL',
      kubeconfig(clusterWith({ server: 'nonsense' })),
      'kubeconfig FILE: server of cluster c is not a URL such as https://10.0.0.1:6443: nonsense',
    ],
    [
      'a server of another protocol',
      kubeconfig(clusterWith({ server: 'ftp://10.0.0.1' })),
      'kubeconfig FILE: server of cluster c is not a URL such as https://10.0.0.1:6443: ftp://10.0.0.1',
    ],
    [
      'no such certificate',
      kubeconfig(clusterWith({ 'certificate-authority': '/nosuch/ca' })),
      'kubeconfig FILE: certificate-authority /nosuch/ca: no such file',
    ],
    [
      'no such key',
      kubeconfig(userWith({ 'client-key': '/nosuch/key' })),
      'kubeconfig FILE: client-key /nosuch/key: no such file',
    ],
  ])('%s', (name, text, sentence) => {
    const file = fileOf(name, text);
    expect(() => loadKubeConfig({ kubeconfig: file })).toThrow(new KubeConfigError(sentence.replace('FILE', file)));
  });

  test('a folder in place of a kubeconfig is reported', () => {
    const folder = join(root, 'folder');
    mkdirSync(folder);
    expect(() => loadKubeConfig({ kubeconfig: folder })).toThrow(
      new KubeConfigError(`kubeconfig ${folder}: it is a folder; give another with --kubeconfig`),
    );
  });

  test('a missing context is reported', () => {
    const file = fileOf('contexts', kubeconfig());
    expect(() => loadKubeConfig({ kubeconfig: file, context: 'y' })).toThrow(
      new KubeConfigError(`--context y: not in kubeconfig ${file}, which has x`),
    );
  });

  test('a missing program for the credentials is reported', async () => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: '/nosuch/login' };
    const client = new KubeClient(loadKubeConfig({ kubeconfig: fileOf('exec', kubeconfig(userWith({ exec }))) }));
    await expect(client.list(VirtualMachines)).rejects.toThrow(
      new KubeConfigError("cluster c or user u of the kubeconfig can't be used: spawn /nosuch/login ENOENT"),
    );
  });
});

const named = (name: string): string =>
  fileOf(
    name,
    kubeconfig({
      clusters: [{ name: 'c', cluster: { server: `https://${name}:6443` } }],
      contexts: ['x', name].map((context) => ({ name: context, context: { cluster: 'c', user: 'u' } })),
      'current-context': name,
    }),
  );
const load = (...files: string[]): ReturnType<typeof loadKubeConfig> => {
  vi.stubEnv('KUBECONFIG', files.join(delimiter));
  try {
    return loadKubeConfig();
  } finally {
    vi.unstubAllEnvs();
  }
};

describe('several files in KUBECONFIG', () => {
  test('give the first precedence for the current context and for names in both, as in kubectl', () => {
    const config = load(named('here'), named('there'));
    expect([config.getCurrentContext(), config.getCurrentCluster()?.server]).toEqual(['here', 'https://here:6443']);
    expect(config.getContexts().map(({ name }) => name)).toEqual(['x', 'here', 'there']);
  });

  test('may be missing as long as one is there', () => {
    expect(load('/nosuch', named('here')).getCurrentContext()).toBe('here');
    expect(() => load('/nosuch', '/nowhere')).toThrow(
      new KubeConfigError('kubeconfig /nosuch: no such file; give another with --kubeconfig'),
    );
  });
});
