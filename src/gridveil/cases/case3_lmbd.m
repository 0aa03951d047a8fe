%   Numbers of pglib_opf_case3_lmbd, PGLib-OPF v23.07, https://github.com/power-grid-lib/pglib-opf, licence CC BY 4.0.
%   Rewritten by GridVeil: the tables are complete and unchanged, comments and other fields are left out.
function mpc = case3_lmbd
mpc.version = '2';
mpc.baseMVA = 100;

%	bus_i	type	Pd	Qd	Gs	Bs	area	Vm	Va	baseKV	zone	Vmax	Vmin
mpc.bus = [
	1	3	110	40	0	0	1	1	0	240	1	1.1	0.9;
	2	2	110	40	0	0	1	1	0	240	1	1.1	0.9;
	3	2	95	50	0	0	1	1	0	240	1	1.1	0.9;
];

%	bus	Pg	Qg	Qmax	Qmin	Vg	mBase	status	Pmax	Pmin
mpc.gen = [
	1	1000	0	1000	-1000	1	100	1	2000	0;
	2	1000	0	1000	-1000	1	100	1	2000	0;
	3	0	0	1000	-1000	1	100	1	0	0;
];

%	model	startup	shutdown	n
mpc.gencost = [
	2	0	0	3	0.11	5	0;
	2	0	0	3	0.085	1.2	0;
	2	0	0	3	0	0	0;
];

%	fbus	tbus	r	x	b	rateA	rateB	rateC	ratio	angle	status	angmin	angmax
mpc.branch = [
	1	3	0.065	0.62	0.45	9000	9000	9000	0	0	1	-30	30;
	3	2	0.025	0.75	0.7	50	50	50	0	0	1	-30	30;
	1	2	0.042	0.9	0.3	9000	9000	9000	0	0	1	-30	30;
];
