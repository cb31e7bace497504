/** Each act as a command, which reads the configuration and opens the database each time. */
import { keepContract } from './contract.ts';

keepContract(['command']);
