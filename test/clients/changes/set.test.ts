import { expect, test } from 'vitest';
import { patchOfSets } from '../../../clients/changes/set.ts';

test.each([
  [
    ['spec.template.spec.evictionStrategy=LiveMigrate'],
    { spec: { template: { spec: { evictionStrategy: 'LiveMigrate' } } } },
  ],
  [['spec.a=2', 'spec.b=true', 'spec.c=null', 'spec.d="2"'], { spec: { a: 2, b: true, c: null, d: '2' } }],
  [
    ['metadata.labels[example.com/tier]=1', 'metadata.labels.old=null'],
    { metadata: { labels: { 'example.com/tier': '1', old: null } } },
  ],
  [
    ['spec.disks[name=root].cache=none', 'spec.disks[name=root].io=native', 'spec.disks[name=data].cache=none'],
    {
      spec: {
        disks: [
          { name: 'root', cache: 'none', io: 'native' },
          { name: 'data', cache: 'none' },
        ],
      },
    },
  ],
  [['spec.a=x=y.z[1]'], { spec: { a: 'x=y.z[1]' } }],
  [['spec.a={"b":1}', 'spec.a.c='], { spec: { a: { b: 1, c: '' } } }],
])('%j', (sets, patch) => {
  expect(patchOfSets(sets)).toEqual(patch);
});

test.each(['spec.a', '=b', 'spec..a=b', 'spec.a[=b', '[name=a].b=c'])('the assignment %s is refused', (text) => {
  expect(() => patchOfSets([text])).toThrow(`--set ${text}: give PATH=VALUE`);
});

test('an item of a list is changed by its fields', () => {
  expect(() => patchOfSets(['spec.disks[name=root]=none'])).toThrow('a list item is not a value');
});
