import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

const PROJECT = join(import.meta.dirname, '..');
const NOT_OURS = new Set(['node_modules', '.git', '.ci']);
const MAX_FILES = 15;
const INDEX = 'README.md';
const MAX_COLUMNS = 120;
const MAX_LINES = 300;

/** Returns the names of what a folder's index links to, and of the index: what is listed there need not be few. */
function indexed(folder: string): Set<string> {
  const index = join(folder, INDEX);
  const links = existsSync(index) ? readFileSync(index, 'utf8').matchAll(/\]\(([\w.-]+\.md)[)#]/g) : [];
  return new Set([INDEX, ...[...links].map(([, name]) => name!)]);
}

/** Yields each folder below this one with the number of files that lie directly in it and in no index. */
function* foldersBelow(folder: string): Generator<[folder: string, files: number]> {
  const entries = readdirSync(folder, { withFileTypes: true });
  for (const entry of entries)
    if (entry.isDirectory() && !NOT_OURS.has(entry.name)) {
      const below = join(folder, entry.name);
      yield [
        relative(PROJECT, below),
        readdirSync(below, { withFileTypes: true }).filter((one) => one.isFile() && !indexed(below).has(one.name))
          .length,
      ];
      yield* foldersBelow(below);
    }
}

test(`a folder has at most ${MAX_FILES} files, so that a newcomer finds a rule by names`, () => {
  const folders = [...foldersBelow(PROJECT)];
  expect(folders.length).toBeGreaterThan(50);
  expect(folders.filter(([, files]) => files > MAX_FILES)).toEqual([]);
});

/** Paths of all TypeScript files, from the project's folder. */
function sources(): string[] {
  const all = ['.', ...[...foldersBelow(PROJECT)].map(([folder]) => folder)].flatMap((folder) =>
    readdirSync(join(PROJECT, folder))
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  );
  expect(all.length).toBeGreaterThan(500);
  return all;
}

const textOf = (source: string): string => readFileSync(join(PROJECT, source), 'utf8');

// The compiler and the tests' bundler take more than Node does: a worker would not start.
test('Node can run each file as it is', () => {
  const refused = sources().flatMap((source) => {
    try {
      stripTypeScriptTypes(textOf(source));
      return [];
    } catch (error) {
      return [`${source}: ${(error as Error).message}`];
    }
  });
  expect(refused).toEqual([]);
});

// The formatter wraps code, but not comments. Long strings stay whole, so that they can be searched for.
test(`comments have at most ${MAX_COLUMNS} columns`, () => {
  const long = sources().flatMap((source) =>
    textOf(source)
      .split('\n')
      .flatMap((line, index) =>
        /^\s*(\/?\*|\/\/)/.test(line) && line.length > MAX_COLUMNS ? [`${source}:${index + 1}`] : [],
      ),
  );
  expect(long).toEqual([]);
});

test(`files of the product have at most ${MAX_LINES} lines`, () => {
  const long = sources().filter(
    (one) => !/^(test|bench)\//.test(one) && textOf(one).split('\n').length > MAX_LINES + 1,
  );
  expect(long).toEqual([]);
});

/** The folders of a room by those of the same room that import them, whether types or code. */
function foldersImported(room: string): Map<string, Set<string>> {
  const imported = new Map<string, Set<string>>();
  for (const source of sources().filter((one) => one.startsWith(`${room}/`)))
    for (const [, path] of textOf(source).matchAll(/\b(?:from |import |import\()'(\.[^']+)'/g)) {
      const [from, to] = [dirname(source), dirname(join(dirname(source), path!))];
      if (from !== to && `${to}/`.startsWith(`${room}/`)) imported.set(from, (imported.get(from) ?? new Set()).add(to));
    }
  return imported;
}

/** A folder right below its room: `decisions/rollout` of `decisions/rollout/turns`. */
const topOf = (folder: string): string => folder.split('/').slice(0, 2).join('/');

/** Returns the same for the folders right below the room, each with all that lies in it. */
function whole(imported: ReadonlyMap<string, ReadonlySet<string>>): Map<string, Set<string>> {
  const tops = new Map<string, Set<string>>();
  for (const [from, folders] of imported)
    for (const to of folders)
      if (topOf(from) !== topOf(to)) tops.set(topOf(from), (tops.get(topOf(from)) ?? new Set()).add(topOf(to)));
  return tops;
}

/** Returns the folders that import themselves by way of others. */
function circular(imported: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const reached = (folder: string, known = new Set<string>()): Set<string> => {
    for (const next of imported.get(folder) ?? []) if (!known.has(next)) reached(next, known.add(next));
    return known;
  };
  return [...imported.keys()].filter((folder) => reached(folder).has(folder));
}

// Each folder stands on those that it imports: to read one, you need not have read those above it.
test.each(['activities', 'api', 'clients', 'decisions', 'dev', 'simulator', 'workers', 'workflows'])(
  'no folders of %s import each other in a circle',
  (room) => {
    const imported = foldersImported(room);
    expect(imported.size).toBeGreaterThan(1);
    expect(circular(imported)).toEqual([]);
    expect(circular(whole(imported))).toEqual([]);
  },
);

/** Returns the floors of a room, from the top to the ground, as docs/architecture.md has them. */
function floorsOf(room: string): string[][] {
  const [, table = ''] = textOf('docs/architecture.md').split(`\nIn \`${room}/\`:\n\n`);
  const rows = table.slice(0, table.indexOf('\n\n')).split('\n').slice(2);
  return rows.map((row) => [...row.split(' | ')[1]!.matchAll(/`([\w-]+)`/g)].map(([, folder]) => `${room}/${folder}`));
}

describe.each(['activities', 'clients', 'decisions', 'workflows'])('the floors of %s', (room) => {
  const floors = floorsOf(room);
  // What lies in the room itself is above all floors.
  const floorIn = (folder: string): number => floors.findIndex((folders) => folders.includes(folder));

  test('each folder is on one of them', () => {
    const folders = new Set(
      sources()
        .map((source) => topOf(dirname(source)))
        .filter((one) => one.startsWith(`${room}/`)),
    );
    expect(floors.flat().toSorted()).toEqual([...folders].toSorted());
  });

  test('folders import only from floors below their own', () => {
    const imports = [...whole(foldersImported(room))].flatMap(([from, all]) => [...all].map((to) => ({ from, to })));
    expect(imports.length).toBeGreaterThan(10);
    expect(imports.filter(({ from, to }) => floorIn(to) <= floorIn(from))).toEqual([]);
  });
});

/** The words of a name by their first letters, so that `prune` is of `pruning`. */
const wordsOf = (name: string): string[] =>
  (name.match(/[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])/g) ?? []).map((word) =>
    word.toLowerCase().replace(/s$/, '').slice(0, 4),
  );

/** Files whose names share no word with what they export, and why a reader finds them all the same. */
const NAMED_OTHERWISE = {
  'clients/dashboard/contract/fleet.ts': 'what the server tells the page of the whole fleet',
  'clients/dashboard/page/pure/times.ts': 'times as the page shows them',
  'clients/dashboard/page/views/members.ts': 'the members of a pool as squares, a bar and pages',
  'workflows/lib/messages.ts': "signals and queries: Temporal's word for both is messages",
};

test('the name of a file shares a word with something that it exports', () => {
  const unlike = sources().filter((source) => {
    const exported = [
      ...textOf(source).matchAll(/^export (?:async |abstract )?(?:const|function\*?|class|interface|type) (\w+)/gm),
    ];
    const own = wordsOf(basename(source, '.ts'));
    const isLike = exported.some(([, name]) => wordsOf(name!).some((word) => own.includes(word)));
    return !/^(test|bench)\//.test(source) && exported.length > 0 && !isLike;
  });
  expect(unlike.toSorted()).toEqual(Object.keys(NAMED_OTHERWISE));
});

test('another file uses each constant, function, class and type that a file exports', () => {
  const users = new Map<string, number>();
  const words = sources().flatMap((source) => [...new Set(textOf(source).match(/\w+/g))]);
  for (const word of words) users.set(word, (users.get(word) ?? 0) + 1);
  const unused = sources().flatMap((source) =>
    [...textOf(source).matchAll(/^export (?:async )?(?:const|function|class|interface|type) (\w+)/gm)]
      .filter(([, name]) => users.get(name!) === 1)
      .map(([, name]) => `${source}: ${name}`),
  );
  expect(unused).toEqual([]);
});

/**
 * Where VMs are made and deleted: each of these files asks first whether the VM may have its disks, or take them along.
 */
const ON_DISKS = {
  create: ['activities/disks/spec-writer.ts'],
  delete: [
    'activities/disks/check-deletion.ts',
    'activities/disks/keep-disks.ts',
    'activities/healing/unhealthy-vm-remover.ts',
    'activities/members/delete-member.ts',
  ],
};

test.each(Object.entries(ON_DISKS))('workers %s VMs only where their disks are asked about', (verb, files) => {
  const call = new RegExp(
    `[cC]lient\\.${verb}(<\\w+>)?\\(\\s*(VirtualMachines\\b|resource\\b|kindOfOwner\\(key\\)\\.members\\.resource)`,
  );
  const found = sources().filter((source) => source.startsWith('activities/') && call.test(textOf(source)));
  expect(found.toSorted()).toEqual(files);
});

test('no test waits for the second that Vitest waits by default', () => {
  const waits = sources().filter((file) => file.startsWith('test/') && /\bvi\.wait(?:For|Until)\(/.test(textOf(file)));
  expect(waits.toSorted()).toEqual(['test/wait-for.ts', 'test/workflows/time-skipping.ts']);
});

/** What activities delete without a last check, and why. */
const NOT_CHECKED_LAST = {
  'activities/disks/check-deletion.ts': 'a dry run',
  'activities/disruption/migrations.ts': 'by the version of the migration, which KubeVirt has not begun',
  'activities/membership/kubevirt-revisions.ts': 'by their versions, and nothing has them',
  'activities/operations/operations.ts': 'by its version: it has ended for good',
  'activities/rollout/checks/job.ts': 'the next look makes it again if it is wanted',
  'activities/rollout/revisions.ts': 'by their versions: what is used again is written',
  'activities/schedules/schedules.ts': 'by their versions: they have ended for good',
};

test('a worker deletes nothing by an answer that has grown old', () => {
  const unchecked = sources().filter((source) => {
    const deletions = textOf(source).match(/\bclient\.delete\([^;]*;/gi) ?? [];
    return source.startsWith('activities/') && !deletions.every((call) => /lastCheck|, options\)/.test(call));
  });
  expect(unchecked.toSorted()).toEqual(Object.keys(NOT_CHECKED_LAST));
});

/** What activities write by merge patches without a look at whether it is kept, and why. */
const UNLOOKED = {
  'activities/changes/vm-changer.ts': 'looks itself: users write quantities in any form, and no value is told',
  'activities/disks/grow.ts': 'waits until the claim has grown',
  'activities/disks/spec-writer.ts':
    'specs have quantities and defaults: the next plan compares the VM with its template',
  'activities/disruption-budget/claim-queues.ts': 'a claim is read again with its budget before each use of that',
  'activities/lib/label-vmi.ts': 'the VM tells whose it is, and a rollout waits for the VMI',
  'activities/lib/refuse-unkept.ts': 'looks',
  'activities/machine-types/patch-vms.ts':
    'KubeVirt gives a VM without a type the default: the next look judges the VM',
  'activities/machine-types/resulting-type.ts': 'a dry run: what comes of it is the answer',
  'activities/operations/begin-operation.ts': 'without its UID, an operation is only not told from a restored one',
  'activities/rollout/revisions.ts': 'a rollout does not wait for the labels of a ControllerRevision',
  'activities/schedules/schedules.ts': 'the next look finds the operation that still runs',
};

test('a worker looks whether the API server keeps what it writes', () => {
  const found = sources().filter(
    (one) => one.startsWith('activities/') && /\.patch(<\w+>)?\([^;]*?'merge'/.test(textOf(one)),
  );
  expect(found.toSorted()).toEqual(Object.keys(UNLOOKED));
});

/** Returns what each loop without an upper limit repeats; one of a single statement up to its end. */
function* endlessLoops(text: string): Generator<string> {
  for (const { index } of text.matchAll(/\bwhile \(|\bfor \([^;)]*;[^;<>]*;/g)) {
    const [body, block] = [text.indexOf(') {', index), text.indexOf('\n', index)];
    if (body === -1 || body > block) yield text.slice(index, block);
    else {
      const indent = /[ ]*$/.exec(text.slice(0, index))![0];
      yield text.slice(index, text.indexOf(`\n${indent}}`, body));
    }
  }
}

test('each loop of a workflow that may go on for ever hands over to a new run', () => {
  const found = sources()
    .filter((source) => source.startsWith('workflows/'))
    .flatMap((source) => [...endlessLoops(textOf(source))].map((loop) => [source, loop] as const));
  expect(found.length).toBeGreaterThan(4);
  const endless = found.filter(([, loop]) => /\bawait\b/.test(loop) && !/continueAsNew/i.test(loop));
  expect(endless).toEqual([]);
});
