/** Main program of the process that runs the doctor's checks (beside.ts starts it). */
import { constants, setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import type { DoctorRequest } from './beside.ts';
import { examine } from './doctor.ts';
import type { Finding } from './finding.ts';

setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
const { config, warnings, now }: DoctorRequest = JSON.parse(await text(process.stdin));
const found: Finding[] = [];
for await (const finding of examine({ loaded: { config, warnings }, now, network: undefined })) {
  found.push(finding);
}
process.stdout.write(JSON.stringify(found));
