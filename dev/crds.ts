import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import type { KubeClient } from '../kubernetes/client.ts';
import type { Condition, KubeObject } from '../kubernetes/objects.ts';
import { CustomResourceDefinitions } from '../kubernetes/resources.ts';

const KIND = 'CustomResourceDefinition';
const ESTABLISHED_WITHIN_MS = 30_000;

/** The CRDs of a file that holds one, a List of them, or many documents, in YAML or JSON; other kinds in it are left out. */
export function readCrds(file: string): KubeObject[] {
  let objects: KubeObject[];
  try {
    const text = readFileSync(file, 'utf8');
    const documents = text.trimStart().startsWith('{') ? [JSON.parse(text) as unknown] : parseYaml(text);
    objects = documents.flatMap(unfold);
  } catch (error) {
    throw new Error(`${file} can't be read as CustomResourceDefinitions: ${(error as Error).message}`, { cause: error });
  }
  const crds = objects.filter((object) => object.kind === KIND);
  if (crds.length === 0) throw new Error(`${file} holds no ${KIND}; give a file with KubeVirt's CRDs in YAML or JSON`);
  return crds;
}

/** `base`, where those of the same name as one of `others` are replaced by it, and the rest of `others`. */
export function mergeCrds(base: KubeObject[], others: KubeObject[]): KubeObject[] {
  const replaced = new Set(others.map((crd) => crd.metadata.name));
  return [...base.filter((crd) => !replaced.has(crd.metadata.name)), ...others];
}

/** Applies them and waits until each is established. */
export async function installCrds(client: KubeClient, crds: KubeObject[], signal?: AbortSignal): Promise<void> {
  await Promise.all(
    crds.map(({ metadata: { name, labels, annotations }, spec }) => {
      const metadata = { name, ...(labels === undefined ? {} : { labels }), ...(annotations === undefined ? {} : { annotations }) };
      return client.patch(CustomResourceDefinitions, { name }, 'apply', { metadata, spec }, { force: true, signal });
    }),
  );
  const deadline = Date.now() + ESTABLISHED_WITHIN_MS;
  const names = new Set(crds.map((crd) => crd.metadata.name));
  for (;;) {
    const { items } = await client.list(CustomResourceDefinitions, { signal });
    for (const crd of items) if (isEstablished(crd)) names.delete(crd.metadata.name);
    if (names.size === 0) return;
    if (Date.now() > deadline) throw new Error(`these CRDs were not established within ${ESTABLISHED_WITHIN_MS / 1000} s: ${[...names].join(', ')}`);
    await sleep(50, undefined, { signal });
  }
}

const isEstablished = (crd: KubeObject): boolean =>
  (crd['status'] as { conditions?: Condition[] } | undefined)?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ??
  false;

function parseYaml(text: string): unknown[] {
  return parseAllDocuments(text).map((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    return document.toJS() as unknown;
  });
}

function unfold(document: unknown): KubeObject[] {
  if (document === null || typeof document !== 'object') return [];
  const { items } = document as { items?: KubeObject[] };
  return Array.isArray(items) ? items : [document as KubeObject];
}
