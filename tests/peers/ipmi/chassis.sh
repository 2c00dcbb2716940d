#!/bin/sh
# The power of ipmi_sim's chassis, kept in a file. Called as: chassis.sh FILE get power | set power 0|1
file=$1 verb=$2
shift 2
while [ $# -gt 0 ]; do
    case "$verb $1" in
    "get power") echo "power:$(cat "$file")" ;;
    "set power")
        echo "$2" >"$file"
        echo "$2" >>"$file.log"
        shift
        ;;
    set*) shift ;;
    esac
    shift
done
