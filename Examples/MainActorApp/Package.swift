// swift-tools-version: 6.2
// SPDX-License-Identifier: MIT

import PackageDescription

// An app as Xcode 26 makes it: all of its code is on the main actor unless it says otherwise. `./check` runs it; its views
// are type-checked by Scripts/check-apple.
let package = Package(
    name: "MainActorApp",
    platforms: [.iOS(.v15), .macOS(.v12)],
    dependencies: [.package(name: "PulseKit", path: "../..")],
    targets: [
        .executableTarget(
            name: "MainActorApp",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"), .product(name: "PulseTesting", package: "PulseKit"),
            ],
            swiftSettings: [
                .defaultIsolation(MainActor.self), .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
                .enableUpcomingFeature("InferIsolatedConformances"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
