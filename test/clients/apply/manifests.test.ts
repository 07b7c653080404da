import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readManifests } from '../../../api/manifest/manifest.ts';
import { readManifestFiles } from '../../../clients/apply/manifests.ts';
import { planOf } from '../../../clients/apply/plan.ts';
import { budgetManifest } from '../../api/budgets/budgets.ts';
import { bareSet } from '../../api/replica-set/replica-sets.ts';

function folder(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'drover-manifests-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(root, name, '..'), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

test.each([
  ['Latin-1', Buffer.from('name: gr\u00fc\u00dfe\n', 'latin1')],
  ['UTF-16, as PowerShell writes it', Buffer.from('\ufeffname: web\n', 'utf16le')],
  ['binary', Buffer.from([0x1f, 0x8b, 0x08, 0x00])],
])('a file in %s is refused, and no character of it is replaced', async (_, bytes) => {
  const file = join(folder({}), 'pool.yaml');
  writeFileSync(file, bytes);
  await expect(readManifestFiles([file], false)).rejects.toThrow(
    `${file}: it is not UTF-8 text, as YAML and JSON must be`,
  );
});

test('a byte order mark is no part of a file', async () => {
  const root = folder({ 'a.yaml': '\ufeffname: web' });
  expect(await readManifestFiles([root], false)).toMatchObject([{ text: 'name: web' }]);
});

test('a file that is too large to be a manifest is not read to its end', async () => {
  const root = folder({ 'a.yaml': '' });
  truncateSync(join(root, 'a.yaml'), 2 ** 40);
  await expect(readManifestFiles([root], false)).rejects.toThrow(
    `${root}/a.yaml: it is larger than 64 MiB, so it can't be a manifest`,
  );
});

test.each(['kustomization.yaml', 'kustomization.yml', 'Kustomization'])('%s is not built', async (name) => {
  const root = folder({ 'web.yaml': 'web', [`base/${name}`]: 'resources: []' });
  const sentence = `drover does not build kustomizations: kubectl kustomize ${root}/base | drover … -f -`;
  await expect(readManifestFiles([join(root, 'base', name)], false)).rejects.toThrow(sentence);
  if (name !== 'Kustomization') await expect(readManifestFiles([root], true)).rejects.toThrow(sentence);
});

const poolNamed = (name: string, namespace?: string): string =>
  JSON.stringify({
    apiVersion: 'drover.dev/v1alpha1',
    kind: 'VirtualMachinePool',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    spec: {
      replicas: 1,
      template: { spec: { runStrategy: 'Halted', template: { spec: { domain: { devices: {} } } } } },
    },
  });

test('a folder gives its manifests in the order of their names, and with -R those below it', async () => {
  const root = folder({ 'b.yaml': 'b', 'a.yml': 'a', 'c.json': 'c', 'notes.txt': 'no', 'below/d.yaml': 'd' });
  const named = async (recursive: boolean): Promise<string[]> =>
    (await readManifestFiles([root], recursive)).map(({ text }) => text);
  expect(await named(false)).toEqual(['a', 'b', 'c']);
  expect(await named(true)).toEqual(['a', 'b', 'd', 'c']);
});

test('a file that cannot be read is reported with its name', async () => {
  await expect(readManifestFiles(['/nonexistent.yaml'], false)).rejects.toThrow(
    '/nonexistent.yaml: no such file or folder',
  );
  await expect(readManifestFiles(['https://example.com/pool.yaml'], false)).rejects.toThrow(/does not read URLs/);
  const root = folder({ 'below/d.yaml': 'd' });
  await expect(readManifestFiles([root], false)).rejects.toThrow(
    /no .yaml, .yml or .json file in this folder; -R looks/,
  );
});

test('an object goes to the namespace that it names, else to that of the command', () => {
  const files = [
    { source: 'one.yaml', text: poolNamed('here') },
    { source: 'two.yaml', text: poolNamed('there', 'other') },
  ];
  const { planned } = planOf(files, { given: undefined, byDefault: 'mine' });
  expect(planned.map(({ object }) => object.metadata.namespace)).toEqual(['mine', 'other']);
});

test('each object is applied as its kind', () => {
  const set = JSON.stringify(bareSet());
  const budget = { ...budgetManifest({ maxUnavailable: 1 }), kind: 'ClusterVirtualMachineDisruptionBudget' };
  const text = JSON.stringify({ ...budget, metadata: { name: 'all' } });
  const { planned } = planOf(
    [
      { source: 'pool.yaml', text: poolNamed('web') },
      { source: 'set.yaml', text: set },
      { source: 'budget.yaml', text },
    ],
    { given: undefined, byDefault: 'mine' },
  );
  expect(planned.map(({ kind, object: { metadata } }) => [kind.resource.plural, metadata.namespace])).toEqual([
    ['virtualmachinepools', 'mine'],
    ['virtualmachinereplicasets', 'default'],
    ['clustervirtualmachinedisruptionbudgets', undefined],
  ]);
});

test('an object that names another namespace than --namespace is refused', () => {
  const files = [{ source: 'two.yaml', text: poolNamed('there', 'other') }];
  expect(() => planOf(files, { given: 'mine', byDefault: 'mine' })).toThrow(AggregateError);
  expect(planOf(files, { given: 'other', byDefault: 'other' }).planned).toHaveLength(1);
});

test('the examples are right, and need no conversion', async () => {
  // Without those of other tools, in folders below.
  const manifests = readManifests(await readManifestFiles([join(import.meta.dirname, '../../../examples')], false));
  expect(manifests.length).toBeGreaterThanOrEqual(2);
  expect(manifests.flatMap(({ notes }) => notes)).toEqual([]);
});

/** A pool manifest with one field per line, in either API's form. */
const written = ({ apiVersion = 'drover.dev/v1alpha1', template = 'template', more = '' } = {}): string => `# a remark
apiVersion: ${apiVersion}
kind: VirtualMachinePool
metadata:
  name: web
spec:
  replicas: 2
${more}
  ${template}:
    spec:
      runStrategy: always
      template:
        spec:
          volumes:
            - name: root
            - {name: data, persistentVolumeClaim: {claimName: shared}}
          domain: {}
`;
const planOne = (text: string) => planOf([{ source: 'p.yaml', text }], { given: undefined, byDefault: 'mine' });
const theirs = { apiVersion: 'pool.kubevirt.io/v1beta1', template: 'virtualMachineTemplate', more: '  selector: {}' };

test.each([written(), written(theirs)])('a note has the line of the field that it concerns', (text) => {
  const { notes } = planOne(text);
  expect(notes.find((note) => note.includes('share the disk'))).toMatch(
    /^p\.yaml:16: spec\.template\.spec\.template\.spec\.volumes\[1\]: /,
  );
});

test.each([written(), written(theirs)])(
  "the server's message about a field has the line of that field, or of its parent",
  (text) => {
    const { where } = planOne(text).planned[0]!;
    expect(where.about('VirtualMachinePool.drover.dev "web" is invalid: spec.replicas: Invalid value: 2')).toBe(
      'p.yaml:7',
    );
    expect(where.about('spec.template.spec.runStrategy: Unsupported value')).toBe('p.yaml:11');
    expect(where.about('the server is busy')).toBe('p.yaml:2');
    expect(
      where.aboutVm(
        'VirtualMachine.kubevirt.io "web-0" is invalid: [spec.template.spec.domain.devices: Required value]',
      ),
    ).toBe('p.yaml:17');
    expect(where.aboutVm('no memory requested')).toBe('p.yaml:9');
  },
);

test('each item of a list has its own lines', () => {
  const [first, second] = planOf(
    [
      {
        source: 'l.json',
        text: `{"kind": "List", "apiVersion": "v1", "items": [\n${poolNamed('a')},\n${poolNamed('b')}]}`,
      },
    ],
    { given: undefined, byDefault: 'mine' },
  ).planned;
  expect([first!.where.about('spec.replicas: no'), second!.where.about('spec.replicas: no')]).toEqual([
    'l.json:2',
    'l.json:3',
  ]);
});
