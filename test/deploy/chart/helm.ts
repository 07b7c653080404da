import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseAllDocuments, stringify } from 'yaml';
import type { KubeObject } from '../../../api/objects.ts';
import { defaultCache } from '../../../dev/paths.ts';
import { resolveGoTool } from '../../tools/go-tools.ts';

const run = promisify(execFile);

export const CHART = fileURLToPath(new URL('../../../deploy', import.meta.url));
export const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

export interface Installation {
  namespace?: string;
  values?: object;
}

/** Helm, with a folder of its own for all that it keeps. */
export class Helm {
  readonly folder = mkdtempSync(join(tmpdir(), 'drover-helm-'));
  readonly #program: string;
  #files = 0;

  private constructor(program: string) {
    this.#program = program;
  }

  static async get(release: 'helm' | 'helm3' = 'helm'): Promise<Helm> {
    return new Helm(await resolveGoTool(release, { cache: defaultCache(), onProgress: () => {} }));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Runs Helm and returns what it prints. Throws an error with what it says if it fails. */
  async run(...args: string[]): Promise<string> {
    const home = { HELM_CACHE_HOME: this.folder, HELM_CONFIG_HOME: this.folder, HELM_DATA_HOME: this.folder };
    const { stdout } = await run(this.#program, args, { env: { ...process.env, ...home }, maxBuffer: 2 ** 26 });
    return stdout;
  }

  valuesFile(values: object): string {
    const file = join(this.folder, `values-${++this.#files}.yaml`);
    writeFileSync(file, stringify(values));
    return file;
  }

  /** Returns what would be installed. */
  async objects({ namespace = 'drover', values = {} }: Installation = {}): Promise<KubeObject[]> {
    // A Helm that Go builds knows no version of Kubernetes.
    const kubernetes = ['--kube-version', '1.35.0'];
    const args = ['drover', CHART, '--namespace', namespace, '--values', this.valuesFile(values), ...kubernetes];
    return objectsIn(await this.run('template', ...args));
  }

  /** Packs the chart as one file, as of a release, and returns the path of the file. */
  async packed(version: string): Promise<string> {
    const of = ['--version', version, '--app-version', version];
    await this.run('package', CHART, '--destination', this.folder, ...of);
    return join(this.folder, `drover-${version}.tgz`);
  }

  /** Returns what `kubectl apply -k` would apply of a kustomization of this folder's manifests. */
  async kustomized(kustomization: { components?: string[]; [field: string]: unknown }): Promise<KubeObject[]> {
    const folder = join(this.folder, `kustomization-${++this.#files}`);
    mkdirSync(folder);
    const deploy = relative(folder, CHART);
    const components = kustomization.components?.map((one) => join(deploy, one)) ?? [];
    const content = { ...kustomization, resources: [deploy], components };
    writeFileSync(join(folder, 'kustomization.yaml'), stringify(content));
    const { stdout } = await run('kubectl', ['kustomize', folder], { maxBuffer: 2 ** 26 });
    return objectsIn(stdout);
  }
}

const objectsIn = (text: string): KubeObject[] =>
  parseAllDocuments(text).flatMap((document) => (document.contents === null ? [] : [document.toJS() as KubeObject]));
