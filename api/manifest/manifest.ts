import { API_VERSION } from '../labels-and-annotations.ts';
import { closest } from '../lib/closest.ts';
import { MAX_DEPTH, tooDeep } from '../lib/depth.ts';
import { eitherOf, listed } from '../lib/listed.ts';
import { plainText } from '../lib/plain-text.ts';
import { VirtualMachinePools } from '../resources.ts';
import { BUDGET_MANIFESTS } from './budget.ts';
import type { Finding } from './check.ts';
import { readDroverPool, readProposedPool } from './drover-pool.ts';
import { isObject, type Json } from './kept-by-server.ts';
import { readKubeVirtPool } from './kubevirt-pool.ts';
import { ManifestErrors, pathIn, formatPath, type Problem } from './problem.ts';
import type { Applicable, ManifestKind, Reading } from './reader.ts';
import { VmiSetManifests, ReplicaSetManifests } from './replica-set.ts';
import { readDocuments, type SourceDocument } from './yaml-documents.ts';

export { ManifestErrors, type Problem } from './problem.ts';

/** An object to apply, and where it was written. */
export interface Manifest {
  object: Applicable;
  source: string;
  /** Counted from 1. */
  document: number;
  line: number;
  /** What was converted or changed, and what is allowed but probably unintended, one sentence each. */
  notes: string[];
  /** Returns the line of the field that a sentence about the object names, or of its nearest existing parent. */
  lineAbout: (sentence: string) => number;
  /** The same for a sentence about a VM made from its template. */
  lineAboutVm: (sentence: string) => number;
}

export interface ManifestFile {
  text: string;
  /** The file's name, as errors show it. */
  source: string;
}

/** The kinds that `drover apply` accepts. */
const KINDS: readonly ManifestKind[] = [
  {
    resource: VirtualMachinePools,
    readers: {
      [API_VERSION]: readDroverPool,
      'kubevirt.io/v1': readProposedPool,
      'pool.kubevirt.io/v1alpha1': readKubeVirtPool,
      'pool.kubevirt.io/v1beta1': readKubeVirtPool,
    },
  },
  ReplicaSetManifests,
  VmiSetManifests,
  ...BUDGET_MANIFESTS,
];

const NAMES = KINDS.map(({ resource }) => resource.kind);
const EACH = NAMES.map((name) => `${name}s`);

/** Parses the objects of one YAML or JSON text. Throws `ManifestErrors` with all problems of all documents. */
export const parseManifests = (text: string, source: string): Manifest[] => readManifests([{ text, source }]);

/** Parses the objects of many files. Throws `ManifestErrors` with all problems of all files. */
export function readManifests(files: readonly ManifestFile[]): Manifest[] {
  const manifests: Manifest[] = [];
  const problems: Problem[] = [];
  for (const { text, source } of files) {
    const documents = readDocuments(text);
    if (documents.length === 0) problems.push({ source, document: 0, path: '', message: formatEmpty(text) });
    for (const document of documents) readDocument(document, source, manifests, problems);
  }
  problems.push(...writtenTwice(manifests));
  if (problems.length > 0) throw new ManifestErrors(problems);
  return manifests;
}

function readDocument(document: SourceDocument, source: string, manifests: Manifest[], problems: Problem[]): void {
  const { number, value, faults, lineOf, written } = document;
  problems.push(...faults.map((fault) => ({ source, document: number, path: '', ...fault })));
  if (faults.length > 0) return;
  for (const { object, above } of objectsIn(value)) {
    const reading = read(object, (path) => written([...above, ...path]));
    if ('findings' in reading) {
      const found = reading.findings.map(({ path, message }) => {
        const full = [...above, ...path];
        return { source, document: number, line: lineOf(full), path: formatPath(full), message };
      });
      problems.push(...found.sort((a, b) => a.line - b.line));
    } else {
      const lineAt = (path: PropertyKey[]): number => lineOf([...above, ...asNamedIn(object, path)]);
      manifests.push({
        ...reading,
        notes: reading.notes.map(plainText),
        source,
        document: number,
        line: lineOf(above),
        lineAbout: (sentence) => lineAt(pathIn(sentence)),
        lineAboutVm: (sentence) => lineAt(['spec', 'template', ...pathIn(sentence)]),
      });
    }
  }
}

/** KubeVirt's own pools have another name for the template, which holds most of the fields. */
function asNamedIn(object: unknown, [spec, template, ...rest]: PropertyKey[]): PropertyKey[] {
  const holder = isObject(object) ? object['spec'] : undefined;
  const isKubeVirtSpec = template === 'template' && isObject(holder) && 'virtualMachineTemplate' in holder;
  return [spec, isKubeVirtSpec ? 'virtualMachineTemplate' : template, ...rest].filter((part) => part !== undefined);
}

/** Returns the document itself, or the items of a list as `kubectl get -o yaml` prints it. */
function objectsIn(value: unknown): { object: unknown; above: PropertyKey[] }[] {
  if (!isObject(value) || !Array.isArray(value['items']) || !String(value['kind']).endsWith('List'))
    return [{ object: value, above: [] }];
  return value['items'].map((object: unknown, index) => ({ object, above: ['items', index] }));
}

function read(object: unknown, written: (path: readonly PropertyKey[]) => string | undefined): Reading {
  if (!isObject(object))
    return {
      findings: [{ path: [], message: 'this is not a Kubernetes object: it has no apiVersion, kind and metadata' }],
    };
  const { apiVersion, kind } = object;
  const missing = (['apiVersion', 'kind'] as const).filter(
    (key) => typeof object[key] !== 'string' || object[key] === '',
  );
  const deep = tooDeep(object);
  if (deep !== null)
    return {
      findings: [{ path: deep, message: `is nested deeper than ${MAX_DEPTH} levels, which no object of KubeVirt is` }],
    };
  if (missing.length > 0)
    return { findings: missing.map((key) => ({ path: [key], message: formatMissing(key, object) })) };
  const known = KINDS.find(({ resource }) => resource.kind === kind);
  if (known === undefined) return { findings: [unknownKind(String(apiVersion), String(kind))] };
  const reader = Object.hasOwn(known.readers, String(apiVersion)) ? known.readers[String(apiVersion)] : undefined;
  return reader === undefined ? { findings: [unknownVersion(String(apiVersion), known)] } : reader(object, written);
}

function formatMissing(key: 'apiVersion' | 'kind', object: Json): string {
  const right = key === 'kind' ? eitherOf(NAMES) : API_VERSION;
  return `${key in object ? 'must be text' : 'is missing'}: drover applies objects of ${key} ${right}`;
}

function unknownVersion(apiVersion: string, { resource, readers }: ManifestKind): Finding {
  const versions = Object.keys(readers);
  const ofItsGroup = versions.filter((version) => version.startsWith(`${apiVersion.split('/')[0]}/`));
  const meant = ofItsGroup.at(-1) ?? closest(apiVersion, versions) ?? API_VERSION;
  return { path: ['apiVersion'], message: `${resource.kind} is not known in ${apiVersion}; did you mean ${meant}?` };
}

function unknownKind(apiVersion: string, kind: string): Finding {
  const near = closest(kind, NAMES);
  if (near !== undefined) return { path: ['kind'], message: `${kind} is not known; did you mean ${near}?` };
  return {
    path: ['kind'],
    message: `drover applies ${listed(EACH)}, not ${kind} (${apiVersion}): use kubectl apply for it`,
  };
}

function formatEmpty(text: string): string {
  return text.trim() === ''
    ? `the file is empty: it should hold a ${eitherOf(NAMES)}`
    : 'the file holds no object, only comments or separators';
}

function writtenTwice(manifests: readonly Manifest[]): Problem[] {
  const first = new Map<string, Manifest>();
  return manifests.flatMap((manifest) => {
    const { kind, metadata } = manifest.object;
    const key = [kind, metadata.namespace ?? '', metadata.name].join('/');
    const earlier = first.get(key);
    first.set(key, earlier ?? manifest);
    if (earlier === undefined) return [];
    const { source, document, line } = manifest;
    const message = `the ${kind} ${metadata.name} appears twice: first at ${earlier.source}:${earlier.line}`;
    return [{ source, document, line, path: 'metadata.name', message }];
  });
}
