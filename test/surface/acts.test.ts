/** Each act through the doors of the daemon. */
import { keepContract } from './contract.ts';

keepContract(['page', 'token', 'local']);
