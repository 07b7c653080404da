import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { isEstablished, resourceOf, type CustomResourceDefinition } from '../../api/crd/definition.ts';
import { whyUnreadable } from '../../api/manifest/unreadable.ts';
import type { KubeObject } from '../../api/objects.ts';
import { CustomResourceDefinitions, type Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isNotFound, isTransient } from '../../kubernetes/errors.ts';

const KIND = 'CustomResourceDefinition';
const SERVED_WITHIN_MS = 30_000;

/**
 * Returns the CRDs of a file with one CRD, a List, or several documents, in YAML or JSON. Ignores other kinds. Throws
 * if the file can't be read or has no CRDs.
 */
export function readCrds(file: string): KubeObject[] {
  let objects: KubeObject[];
  try {
    const text = readFileSync(file, 'utf8');
    const documents = text.trimStart().startsWith('{') ? [JSON.parse(text) as unknown] : parseYaml(text);
    objects = documents.flatMap(unfold);
  } catch (error) {
    throw new Error(`${file} can't be read as CustomResourceDefinitions: ${whyUnreadable(error)}`, { cause: error });
  }
  const crds = objects.filter((object) => object.kind === KIND);
  if (crds.length === 0) throw new Error(`${file} holds no ${KIND}; give a file with KubeVirt's CRDs in YAML or JSON`);
  return crds;
}

/** Returns `base` and `others`; CRDs of `others` replace those of the same name in `base`. */
export function mergeCrds(base: KubeObject[], others: KubeObject[]): KubeObject[] {
  const replaced = new Set(others.map((crd) => crd.metadata.name));
  return [...base.filter((crd) => !replaced.has(crd.metadata.name)), ...others];
}

/** Applies the CRDs. Resolves when all are established and their objects can be listed. */
export async function installCrds(client: KubeClient, crds: KubeObject[], signal?: AbortSignal): Promise<void> {
  await Promise.all(
    crds.map(({ metadata: { name, labels, annotations }, spec }) => {
      const metadata = {
        name,
        ...(labels === undefined ? {} : { labels }),
        ...(annotations === undefined ? {} : { annotations }),
      };
      return client.patch(CustomResourceDefinitions, { name }, 'apply', { metadata, spec }, { force: true, signal });
    }),
  );
  await Promise.all(crds.map((crd) => untilServed(client, crd as CustomResourceDefinition, signal)));
}

async function untilServed(
  client: KubeClient,
  crd: CustomResourceDefinition,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { name } = crd.metadata;
  const resource = resourceOf(crd);
  if (resource === undefined) throw new Error(`${name} has no version that is served`);
  const deadline = Date.now() + SERVED_WITHIN_MS;
  for (;;) {
    if (await isServed(client, name, resource, signal)) return;
    if (Date.now() > deadline)
      throw new Error(`kube-apiserver does not serve ${name} within ${SERVED_WITHIN_MS / 1000} s of its installation`);
    await sleep(50, undefined, { signal });
  }
}

/** A newly established resource briefly answers 404, then 429. */
async function isServed(
  client: KubeClient,
  name: string,
  resource: Resource,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  try {
    const crd = await client.get<CustomResourceDefinition>(CustomResourceDefinitions, { name }, { signal });
    if (!isEstablished(crd)) return false;
    await client.list(resource, { fieldSelector: 'metadata.name=none', signal });
    return true;
  } catch (error) {
    if (isNotFound(error) || isTransient(error)) return false;
    throw error;
  }
}

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
