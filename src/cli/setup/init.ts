/** `selvedge init`: makes a working configuration from an address and its credentials. */
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { Command } from 'commander';
import { DEFAULT_FILE, readConfig, requireConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { readSettings } from '../../config/settings.ts';
import { plainValue } from '../../config/source/tree.ts';
import { routeOf } from '../../daemon/service.ts';
import { systemClock } from '../../lib/clock.ts';
import { ConfigError, UsageError } from '../../lib/errors.ts';
import { configurationText, type Line } from '../../probe/configuration.ts';
import type { Finding } from '../../probe/findings.ts';
import { probeAccount } from '../../probe/probe.ts';
import { type CliContext, examples } from '../command.ts';
import { EXAMPLE_RULES } from '../demo/folder.ts';
import { readDescription, spacedLogIns, tellFinding } from './telling.ts';

interface Options {
  readonly config?: string;
  readonly url?: string;
  readonly clientId?: string;
  readonly clientSecretFile?: string;
  readonly apiKeyFile?: string;
  readonly readTokenFile?: string;
  readonly webhookSecretFile?: string;
  readonly v2Url?: string;
  readonly v2ClientId?: string;
  readonly v2ClientSecretFile?: string;
  readonly caFile?: string;
  readonly proxy?: string;
  readonly clientCertificate?: string;
  readonly clientKeyFile?: string;
  readonly loginSpacing?: string;
  readonly output?: string;
  readonly dataDir?: string;
  readonly rules?: string;
  readonly description?: string;
  readonly force?: boolean;
}

/** Files made so far, which are removed when `init` fails. */
interface Made {
  readonly paths: string[];
}

/** Path as the configuration file writes it: relative if it lies beside the file or below. */
function pathFrom(folder: string, path: string): string {
  const near = relative(folder, resolve(path));
  return near.startsWith('..') || isAbsolute(near) ? resolve(path) : near;
}

function writeSecret(folder: string, name: string, value: string, made: Made): string {
  const path = join(folder, 'secrets', name);
  if (existsSync(path)) {
    throw new UsageError('init.secret_exists', `${path} exists`, {
      hint: `name it with its option (such as --${name}-file), or remove it`,
    });
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, `${value}\n`, { mode: 0o600, flag: 'wx' });
  made.paths.push(path);
  return path;
}

/** Asks the person at the terminal for the options that are missing. */
async function asked(
  options: Options,
  context: CliContext,
  folder: string,
  made: Made,
): Promise<Options> {
  const hasKey = options.apiKeyFile !== undefined;
  const hasLogin = options.clientId !== undefined && options.clientSecretFile !== undefined;
  if (options.url !== undefined && (hasKey || hasLogin)) return options;
  const line = async (given: string | undefined, question: string): Promise<string> => {
    if (given !== undefined) return given;
    const typed = await context.ask(question);
    if (typed !== undefined) return typed.trim();
    throw new UsageError('init.nobody', 'address or credentials are missing, and nobody is asked', {
      hint: 'give --url, and --client-id with --client-secret-file, or --api-key-file',
    });
  };
  const secret = async (given: string | undefined, name: string, question: string) => {
    if (given !== undefined) return given;
    const typed = (await context.askSecret(question))?.trim();
    return typed ? writeSecret(folder, name, typed, made) : undefined;
  };
  const url = await line(options.url, 'Address of V1 (https://systemkey.domain/api/v1): ');
  const clientId = hasKey ? '' : await line(options.clientId, 'Client id (none: an API key): ');
  const isKey = clientId === '';
  const apiKeyFile = isKey ? await secret(options.apiKeyFile, 'api-key', 'API key: ') : undefined;
  const clientSecretFile = isKey
    ? undefined
    : await secret(options.clientSecretFile, 'client-secret', 'Client secret: ');
  const ask2 = 'Client id of V2 (none: try the same one): ';
  const v2Id = options.v2ClientId ?? (await line(undefined, ask2));
  const v2ClientSecretFile =
    v2Id === ''
      ? undefined
      : await secret(options.v2ClientSecretFile, 'v2-client-secret', 'Client secret of V2: ');
  const hook = 'Signing secret of the endpoint, whsec_… (none: later): ';
  const webhookSecretFile = await secret(options.webhookSecretFile, 'webhook-secret', hook);
  return {
    ...options,
    url,
    ...(isKey ? {} : { clientId }),
    ...(apiKeyFile === undefined ? {} : { apiKeyFile }),
    ...(clientSecretFile === undefined ? {} : { clientSecretFile }),
    ...(v2Id === '' ? {} : { v2ClientId: v2Id }),
    ...(v2ClientSecretFile === undefined ? {} : { v2ClientSecretFile }),
    ...(webhookSecretFile === undefined ? {} : { webhookSecretFile }),
  };
}

/** Settings that the user gave; the probe fills in the rest. */
function givenLines(options: Options, folder: string): readonly Line[] {
  const line = (setting: string, value: unknown, about = ''): readonly Line[] =>
    value === undefined ? [] : [{ setting, value, about }];
  const file = (path: string | undefined) =>
    path === undefined ? undefined : { file: pathFrom(folder, path) };
  // As the package makes them, whose units hand copies of the backups to another host; an account
  // of its own folder has its own within.
  const [, own] = /^\/etc\/selvedge((?:\/[^/]+)?)$/.exec(folder) ?? [];
  const system = own === '' ? undefined : own && `/var/lib/selvedge${own}`;
  const dataDir = options.dataDir ?? (own === undefined ? join(folder, 'data') : system);
  const rules = options.rules === undefined ? undefined : pathFrom(folder, options.rules);
  const webhook = file(options.webhookSecretFile);
  return [
    ...line('dataDir', dataDir && pathFrom(folder, dataDir)),
    ...line('service.v1.baseUrl', options.url?.replace(/\/+$/, '')),
    ...line('service.v1.login.clientId', options.clientId),
    ...line('service.v1.login.clientSecret', file(options.clientSecretFile)),
    ...line('service.v1.apiKey', file(options.apiKeyFile)),
    ...line('service.v1.readToken', file(options.readTokenFile)),
    ...line('service.v2.baseUrl', options.v2Url?.replace(/\/+$/, '')),
    ...line('service.v2.login.clientId', options.v2ClientId),
    ...line('service.v2.login.clientSecret', file(options.v2ClientSecretFile)),
    ...line('service.caFile', options.caFile && pathFrom(folder, options.caFile)),
    ...line('service.proxy.url', options.proxy),
    ...line(
      'service.clientCertificate.file',
      options.clientCertificate && pathFrom(folder, options.clientCertificate),
    ),
    ...line('service.clientCertificate.key', file(options.clientKeyFile)),
    ...line('service.limits.loginSpacing', options.loginSpacing),
    ...line('listener.secrets', webhook && [{ secret: webhook }]),
    ...line(
      'store.backup.directory',
      own === undefined ? undefined : `/var/backups/selvedge${own}`,
    ),
    ...line('rules.directory', rules),
  ];
}

/**
 * Replaces given settings that the probe has corrected: another address, a key in place of a
 * log-in.
 */
function corrected(given: readonly Line[], findings: readonly Finding[]): readonly Line[] {
  const of = (setting: string) => findings.findLast((one) => one.setting === setting);
  const givenFor = (setting: string) => given.find((one) => one.setting === setting)?.value;
  const isKey = of('service.v1.apiKey');
  const base = of('service.v1.baseUrl');
  const secret = givenFor('service.v1.login.clientSecret');
  const v1 = given
    .filter(({ setting }) => isKey === undefined || !setting.startsWith('service.v1.login.'))
    .map((line) =>
      base && line.setting === base.setting
        ? { ...line, value: base.value, about: base.seen }
        : line,
    );
  const key = isKey ? [{ setting: 'service.v1.apiKey', value: secret, about: isKey.seen }] : [];
  const isV2 = of('service.v2.enabled')?.value === true;
  const hasV2 = givenFor('service.v2.login.clientId') !== undefined;
  const shared =
    isV2 && !hasV2
      ? ['clientId', 'clientSecret'].map((name) => ({
          setting: `service.v2.login.${name}`,
          value: givenFor(`service.v1.login.${name}`),
          about: '',
        }))
      : [];
  return [...v1, ...key, ...shared];
}

function headOf(options: Options, isListening: boolean): string[] {
  const hook =
    'The signing secret of the events is missing: "selvedge portal open" leads to the page that ' +
    'shows it; put it into a file (chmod 600), and add it below ' +
    '"listener: { secrets: [{ secret: { file: … } }] }".';
  return [
    `Selvedge, as ${options.url} answers it. Written by "selvedge init": only what differs from ` +
      'the default stands here, each with where it was seen. All settings and what they mean: ' +
      'config/selvedge.yaml of the package, or "selvedge config show".',
    ...(isListening ? [] : [hook]),
  ];
}

/** Copies the shipped rules where there are none; they only observe until told otherwise. */
function copyRules(directory: string, context: CliContext): void {
  if (existsSync(directory)) return;
  const filter = (path: string) => basename(path) !== 'cookbook';
  cpSync(EXAMPLE_RULES, directory, { recursive: true, filter });
  context.output.note(`wrote ${directory}: example rules (rules.mode is observe: nothing is sent)`);
}

async function probeWith(
  config: Config,
  options: Options,
  context: CliContext,
): Promise<readonly Finding[]> {
  const { output, scrubber } = context;
  const clock = systemClock();
  const description =
    options.description === undefined
      ? undefined
      : await readDescription(options.description, routeOf(config.service), clock);
  const { findings, requests } = await probeAccount({
    config,
    way: routeOf(config.service),
    clock,
    scrubber,
    description,
    mayLogIn: spacedLogIns(clock, config.service.limits.loginSpacing),
    looking: (what) => output.progress(`looking at ${what}`),
    found: (finding) => tellFinding(output, finding),
  });
  output.progress('');
  output.note(`${requests} requests were sent: log-ins, and reads`);
  return findings;
}

async function initialize(options: Options, context: CliContext): Promise<void> {
  const { output, env, scrubber } = context;
  const file = resolve(options.output ?? options.config ?? 'selvedge.yaml');
  const folder = dirname(file);
  if (existsSync(file) && options.force !== true) {
    throw new UsageError('init.exists', `${file} exists`, {
      hint: 'name another one with --output, or say --force to replace it',
    });
  }
  const made: Made = { paths: [] };
  const draft = join(folder, `.${basename(file)}.new`);
  try {
    mkdirSync(folder, { recursive: true });
    const full = await asked(options, context, folder, made);
    const given = givenLines(full, folder);
    const order = readSettings().map(({ path }) => path);
    const defaults = plainValue(readConfig({ file: DEFAULT_FILE, env: {} }).tree);
    const text = (lines: readonly Line[], findings: readonly Finding[]): string => {
      const head = headOf(full, full.webhookSecretFile !== undefined);
      return configurationText({ head, given: lines, findings, defaults, order });
    };
    made.paths.push(draft);
    writeFileSync(draft, text(given, []), { mode: 0o600 });
    const load = () => requireConfig({ file: draft, env, scrubber, absent: 'none' });
    const findings = await probeWith(load().config, full, context);
    writeFileSync(draft, text(corrected(given, findings), findings));
    const { config } = load();
    renameSync(draft, file);
    made.paths.length = 0;
    output.line(`wrote ${file}`);
    copyRules(config.rules.directory, context);
    tellNext(context, file, config);
  } catch (error) {
    for (const path of made.paths) rmSync(path, { force: true });
    throw error;
  }
}

function tellNext({ output }: CliContext, file: string, config: Config): void {
  output.note(`next: selvedge config check --config ${file}, then selvedge run --config ${file}`);
  if (!config.service.v2.enabled) {
    output.note(
      'without V2 no designer, type or NOOS of styles is known, which rules may ask for: get ' +
        'credentials of V2, and init again with --v2-client-id and --v2-client-secret-file',
    );
  }
  if (config.listener.secrets.length > 0) return;
  output.note(`events: selvedge portal open --config ${file} (docs/connect.md)`);
}

export function init(context: CliContext): Command {
  return new Command('init')
    .summary('write a configuration that fits an account')
    .description(
      'Asks the service, reading only, how the account answers (header and scheme of the\n' +
        'token, names of the log-in, level, paging, brands, season, currency, time zone,\n' +
        'statuses, V2) and writes a configuration of what differs from the default. Each line\n' +
        'says on what it was seen, and what is in doubt. Sends nothing but GETs and log-ins,\n' +
        'one every few seconds, because the service takes no more. What is not given is asked\n' +
        'at a terminal; secrets are given in files or typed unseen, never as arguments.',
    )
    .option('--url <address>', 'of V1, such as https://systemkey.domain/api/v1')
    .option('--client-id <id>', 'of the log-in')
    .option('--client-secret-file <file>', 'with its secret, readable by you only')
    .option('--api-key-file <file>', 'with a static key, in place of a log-in')
    .option('--read-token-file <file>', 'with a key that may only read the catalog')
    .option('--webhook-secret-file <file>', 'with the signing secret of the endpoint (whsec_…)')
    .option('--v2-url <address>', 'of V2 (else: found beside V1)')
    .option('--v2-client-id <id>', "of V2's log-in (else: that of V1)")
    .option('--v2-client-secret-file <file>', 'with its secret')
    .option('--ca-file <file>', 'with the authorities to trust (PEM)')
    .option('--client-certificate <file>', 'that the service wants to see (PEM)')
    .option('--client-key-file <file>', 'with its private key (PEM)')
    .option('--proxy <address>', 'that the network is left through')
    .option('--login-spacing <duration>', 'between two log-ins (6100ms)')
    .option('--description <file or URL>', 'an OpenAPI description, if none is published')
    .option('--output <file>', 'the configuration (else: that of --config, or selvedge.yaml)')
    .option('--data-dir <folder>', 'of the databases (else: data beside the configuration)')
    .option('--rules <folder>', 'with the rules (else: rules beside it, made if it is not there)')
    .option('--force', 'replace the configuration that is there')
    .addHelpText(
      'after',
      examples([
        ['init', 'asks for everything'],
        [
          'init --url https://key.example.com/api/v1 --client-id erp-1 \\\n' +
            '    --client-secret-file secrets/client-secret',
          'asks nothing',
        ],
      ]),
    )
    .action(async (_own: Options, command: Command) => {
      // The program's own `--url` takes the address, wherever on the line it stands.
      const options = command.optsWithGlobals<Options>();
      const isHalf =
        (options.clientCertificate === undefined) !== (options.clientKeyFile === undefined);
      if (isHalf) {
        throw new ConfigError('init.half_certificate', 'a client certificate needs its key', {
          hint: 'give both --client-certificate and --client-key-file',
        });
      }
      await initialize(options, context);
    });
}
